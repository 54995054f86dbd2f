// Unpacks data that the page carries: gzip, written as base64.
"use strict";

const canUnpack = typeof DecompressionStream === "function";

async function unpackedBytes(id) {
  const text = document.getElementById(id).textContent;
  const packed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

async function unpackedText(id) {
  return new TextDecoder().decode(await unpackedBytes(id));
}
