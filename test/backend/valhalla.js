// node serve.js CONFIG PORT: answers as the engine's HTTP server does, on 127.0.0.1.
const fs = require('fs');
const http = require('http');
const { Actor } = require('@valhallajs/valhallajs');

const actor = new Actor(fs.readFileSync(process.argv[2], 'utf8'));

const actions = {
  '/route': (q) => actor.route(q),
  '/sources_to_targets': (q) => actor.matrix(q),
  '/locate': (q) => actor.locate(q),
  '/status': (q) => actor.status(q),
};

// What the engine's documentation lists, as far as these roads lead there.
const errors = [
  ['Failed to parse json request', 100],
  ['No costing method found', 125],
  ['Failed to parse location', 130],
  ['Path distance exceeds the max distance limit', 154],
  ['Locations are in unconnected regions', 170],
  ['No suitable edges near location', 171],
  ['No path could be found for input', 442],
];

function answer(res, status, body) {
  res.writeHead(status, { 'Content-Type': 'application/json;charset=utf-8' });
  res.end(body);
}

function refuse(res, error) {
  const text = String(error.message).replace(/^\w+ error: /, '');
  const known = errors.find(([beginning]) => text.startsWith(beginning));
  const status = known ? 400 : 500;
  answer(res, status, JSON.stringify({
    error_code: known ? known[1] : 599, error: text, status_code: status, status: http.STATUS_CODES[status],
  }));
}

const server = http.createServer((req, res) => {
  const act = actions[req.url];
  if (!act) {
    answer(res, 404, JSON.stringify({ error_code: 106, error: 'Try any of', status_code: 404, status: 'Not Found' }));
    return;
  }
  const parts = [];
  req.on('data', (part) => parts.push(part));
  req.on('end', () => {
    act(Buffer.concat(parts).toString() || '{}').then((body) => answer(res, 200, body), (error) => refuse(res, error));
  });
});

server.listen(Number(process.argv[3]), '127.0.0.1');
