/**
 * `writ stdio`: serves the service that a file defines over standard input and output.
 *
 * Standard output carries only the protocol, also while the file is loaded: what the file prints goes to standard
 * error.
 *
 * @module
 */

import type { Writable } from 'node:stream';
import { serveStdio } from '../../stdio/serve.ts';
import { type Io, leaf } from '../shell/command.ts';
import { EXIT_FAILED, EXIT_FOUND, EXIT_OK } from '../shell/exit.ts';
import { faultLines, loadDefinition } from './definition.ts';
import { SERVED_FILE } from './serve.ts';

export const stdioCommand = leaf({
  name: 'stdio',
  summary: 'serve the service that a file defines over standard input and output',
  about: `Imports a module with "export const service = createService(…)" and serves it to the program that started this command: JSON-RPC 2.0, one message per line. Ends when the input ends, or with SIGTERM or SIGINT.

Settings come from the environment and from writ.config.* in the working folder. Everything but the protocol goes to standard error.`,
  operands: { file: SERVED_FILE },
  examples: [
    [
      `printf '%s\\n' '{"jsonrpc": "2.0", "id": 1, "method": "svc.discovery"}' | writ stdio src/service.ts`,
      'one request',
    ],
  ],
  exits: [
    [EXIT_OK, 'the input ended, or a signal stopped it'],
    [EXIT_FOUND, 'code of the service failed outside any call, or it could not stop in time'],
    [EXIT_FAILED, 'the file, its service or the configuration is wrong'],
  ],
  cannot: 'serve',
  async run({ file }, io) {
    // Code of the file may keep the process alive.
    io.endAfter?.();
    try {
      const { input, output } = claimedPipes(io);
      const definition = await loadDefinition(file);
      const { ended } = await serveStdio(definition, { environment: io.env, input, output });
      await ended;
      return EXIT_OK;
    } catch (error) {
      io.err(faultLines(`Cannot serve "${file}"`, error));
      return EXIT_FAILED;
    }
  },
});

function claimedPipes({ pipes }: Io): NonNullable<Io['pipes']> {
  if (!pipes) throw new Error('standard input or output is not open');
  if (pipes.output !== process.stdout) return pipes;
  return { input: pipes.input, output: claimedOutput() };
}

/** Standard output itself. From now on, other writes of this process to it go to standard error. */
function claimedOutput(): Writable {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  return new Proxy(stdout, {
    get(target, name) {
      if (name === 'write') return write;
      const found = Reflect.get(target, name, target);
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
}
