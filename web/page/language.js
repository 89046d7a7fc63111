// What editors ask of `rly lsp`, asked of the same server: each question is a
// whole conversation, from `initialize` to `exit`, about the text as it is.  The
// server keeps nothing between two, so an answer cannot be of an older text.
const URI = 'file:///main.rly';

function framed(message) {
  const body = JSON.stringify({jsonrpc: '2.0', ...message});
  const length = new TextEncoder().encode(body).length;
  return `Content-Length: ${length}\r\n\r\n${body}`;
}

function* messages(out) {
  const bytes = new TextEncoder().encode(out), text = new TextDecoder();
  for (let at = 0; at < bytes.length;) {
    const head = text.decode(bytes.subarray(at, at + 64));
    const [field, length] = /^Content-Length: (\d+)\r\n\r\n/.exec(head);
    at += field.length;
    yield JSON.parse(text.decode(bytes.subarray(at, at + +length)));
    at += +length;
  }
}

// Asks [method, params] pairs about a text.  The answers in their order, null
// for one that was refused, the diagnostics, and the names of the kinds of tokens;
// null: the engine was stopped.
export async function ask(engine, text, files, ...questions) {
  const document = {uri: URI};
  const about = [
    {id: 0, method: 'initialize', params: {capabilities: {}}},
    {method: 'initialized', params: {}},
    {method: 'textDocument/didOpen', params: {textDocument: {
      ...document, languageId: 'rly', version: 1, text}}},
    ...questions.map(([method, params], i) => ({
      id: i + 1, method: `textDocument/${method}`,
      params: {textDocument: document, ...params}})),
  ];
  const end = [{id: -1, method: 'shutdown'}, {method: 'exit'}];
  const input = [about, end].map((list) => list.map(framed).join(''));
  const done = await engine.run(['lsp'], {files, input});
  if (!done) return null;
  const answers = questions.map(() => null);
  let diagnostics = [], legend = [];
  for (const m of messages(done.out)) {
    if (m.id === 0)
      legend = m.result.capabilities.semanticTokensProvider.legend.tokenTypes;
    else if (m.id > 0) answers[m.id - 1] = m.result ?? null;
    else if (m.method === 'textDocument/publishDiagnostics')
      diagnostics = m.params.diagnostics;
  }
  return {answers, diagnostics, legend};
}
