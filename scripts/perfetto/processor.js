// Perfetto's trace processor, which its page runs in a worker, run by Node: a request on standard input and each answer on
// standard output is a 32-bit length and so many bytes. The argument is the folder with the page's files.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

function readExactly(count) {
  const bytes = Buffer.alloc(count);
  for (let at = 0; at < count;) {
    const got = fs.readSync(0, bytes, at, count - at, null);
    if (got === 0) process.exit(0);
    at += got;
  }
  return bytes;
}

function write(bytes) {
  for (let at = 0; at < bytes.length;) at += fs.writeSync(1, bytes, at);
}

const log = (...words) => process.stderr.write(words.join(' ') + '\n');
const worker = {
  console: { log, error: log, warn: () => {} },
  location: { href: 'http://localhost/engine_bundle.js', protocol: 'http:', host: 'localhost' },
  performance, setTimeout, clearTimeout, TextDecoder, TextEncoder, URL,
  readFile: (name) => fs.readFileSync(path.join(process.argv[2], path.basename(name))),
  answer: (bytes) => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    write(Buffer.concat([length, Buffer.from(bytes)]));
  },
};
worker.self = worker;
vm.createContext(worker);
// What the page expects of a browser's worker. Arrays are made inside the context: those of Node are of another class.
vm.runInContext(`
  class WorkerGlobalScope {}
  class XMLHttpRequest {
    open(method, name) { this.name = name; }
    send() { this.response = Uint8Array.from(readFile(this.name)).buffer; }
  }
  const port = { postMessage: (bytes) => answer(bytes) };
  self.ask = (bytes) => port.onmessage({ data: Uint8Array.from(bytes) });
  self.connect = () => self.onmessage({ data: port });
`, worker);
vm.runInContext(worker.readFile('engine_bundle.js').toString(), worker);
worker.connect();
setTimeout(() => { for (;;) worker.ask(readExactly(readExactly(4).readUInt32LE())); }, 0);
