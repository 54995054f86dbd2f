// Names for screen readers that the theme and the gallery leave out.
document.addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll(".search-button-field")) button.removeAttribute("aria-label");
  for (const summary of document.querySelectorAll("nav details > summary")) {
    const page = summary.closest("li").querySelector("a").textContent.trim();
    summary.setAttribute("aria-label", `Pages below ${page}`);
  }
  for (const box of document.querySelectorAll(".sphx-glr-thumbcontainer")) {
    const title = box.querySelector(".sphx-glr-thumbnail-title");
    if (title) box.querySelector("a").setAttribute("aria-label", title.textContent.trim());
  }
});
