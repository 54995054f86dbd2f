// The page inside a notebook: calls go through the widget's messages.
export default {
  render({ model, el }) {
    const waiting = new Map();
    let last = 0;
    const call = (kind, what, given) => new Promise((resolve, reject) => {
      const id = ++last;
      waiting.set(id, [resolve, reject]);
      model.send({ id, kind, what, given: given || {} });
    });
    const tellers = [];
    const hear = (message, buffers) => {
      if (message.news) {
        tellers.forEach((tell) => tell(message.news));
        return;
      }
      const [resolve, reject] = waiting.get(message.id) || [];
      waiting.delete(message.id);
      if (!resolve) return;
      if (message.error) reject(new Error(message.error));
      else if (buffers && buffers.length) {
        const view = buffers[0];
        // Aligned for typed arrays.
        resolve(view.buffer ? view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength) : view);
      } else resolve(message.value);
    };
    model.on("msg:custom", hear);
    const root = document.createElement("div");
    root.className = "soffit-app in-notebook";
    root.tabIndex = -1;
    el.append(root);
    const channel = {
      get: (what, given) => call("get", what, given),
      array: (name, given) => call("get", "array", { name, ...given }),
      picture: async (row, column) => URL.createObjectURL(new Blob([await call("get", "picture", { row, column })])),
      do: (step, given) => call("do", step, given),
      file: () => "#",
      listen: (tell) => tellers.push(tell),
    };
    new Explorer(root, channel);
    return () => model.off("msg:custom", hear);
  },
};
