// Calls of the page to its server. Every call carries the token of the page's address.
(() => {
  const token = new URLSearchParams(location.search).get("token");
  const headers = { "X-Soffit-Token": token };
  const checked = async (answer) => {
    if (answer.ok) return answer;
    let said = `The server answered ${answer.status}.`;
    try { said = (await answer.json()).error || said; } catch { /* not JSON */ }
    throw new Error(said);
  };
  const address = (path, given) => {
    const query = new URLSearchParams(given || {}).toString();
    return path + (query ? "?" + query : "");
  };
  const channel = {
    get: async (what, given) =>
      (await checked(await fetch(address(`/get/${what}`, given), { headers }))).json(),
    array: async (name, given) =>
      (await checked(await fetch(address("/get/array", { name, ...given }), { headers }))).arrayBuffer(),
    picture: async (row, column) =>
      URL.createObjectURL(await (await checked(await fetch(address("/get/picture", { row, column }), { headers }))).blob()),
    do: async (step, given) =>
      (await checked(await fetch(`/do/${step}`, {
        method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(given || {}),
      }))).json(),
    file: (name) => address(`/file/${name}`, { token }),
    listen: (tell) => {
      const source = new EventSource(address("/events", { token }));
      source.onmessage = (event) => tell(JSON.parse(event.data));
      source.onerror = () => tell({ lost: true });
      source.onopen = () => tell({ lost: false });
    },
  };
  new Explorer(document.getElementById("explorer"), channel);
})();
