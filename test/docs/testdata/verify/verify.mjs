// Shows letters to a receiver and prints for each whether it verifies.
import { readFileSync } from "node:fs";

const printed = console.log;
console.log = () => {}; // the receiver says where it listens
const { verify } = await import(process.argv[2]);
for (const letter of JSON.parse(readFileSync(0))) {
  try {
    verify(letter.secret, letter.headers, Buffer.from(letter.body), letter.now);
    printed("true");
  } catch (error) {
    if (!error.message.startsWith("webhook refused: ")) throw error;
    printed("false");
  }
}
process.exit();
