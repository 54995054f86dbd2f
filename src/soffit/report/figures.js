// Draws each figure when it comes near the window, and the others when the browser has nothing else
// to do, so that a printed page has them all. The library is unpacked for the first one.

const FIGURE_OPTIONS = {
  displaylogo: false,
  responsive: true,
  modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
};

let library = null;

function loadLibrary() {
  library ??= unpackedText("plotly").then((code) => {
    const script = document.createElement("script");
    script.textContent = code;
    document.head.append(script);
    return window.Plotly;
  });
  return library;
}

async function drawFigure(element) {
  if (element.dataset.state) return;
  element.dataset.state = "drawing";
  try {
    const [plotly, content] = await Promise.all([
      loadLibrary(),
      unpackedText(element.dataset.content),
    ]);
    const { data, layout } = JSON.parse(content);
    element.textContent = "";
    await plotly.newPlot(element, data, layout, FIGURE_OPTIONS);
    element.dataset.state = "drawn";
  } catch (error) {
    element.dataset.state = "failed";
    element.textContent = "This figure could not be drawn: " + error.message;
  }
}

async function drawTheRest(elements) {
  for (const element of elements) {
    await new Promise((resolve) => (window.requestIdleCallback ?? setTimeout)(resolve));
    await drawFigure(element);
  }
}

function startFigures() {
  const elements = [...document.querySelectorAll(".plot[data-content]")];
  if (!canUnpack) {
    for (const element of elements) {
      element.textContent = "This browser is too old to show the figure. Please update it.";
    }
    return;
  }
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) {
          watcher.unobserve(entry.target);
          drawFigure(entry.target);
        }
      }
    },
    { rootMargin: "600px" },
  );
  for (const element of elements) {
    element.textContent = "The figure is being drawn.";
    watcher.observe(element);
  }
  window.addEventListener("load", () => setTimeout(() => drawTheRest(elements), 1000));
  window.addEventListener("beforeprint", () => elements.forEach(drawFigure));
}

startFigures();
