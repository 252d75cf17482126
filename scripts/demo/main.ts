/**
 * `npm run demo`: reads the options and plays the five scenes. Exit status 0: each scene had the outcome that it claims.
 *
 * @module
 */

import { once } from 'node:events';
import { HELP, optionsOf } from './options.ts';
import { CannotPlay, playDemo, SceneFailed } from './play.ts';
import { createRecorder } from './recorder.ts';
import { SCENES } from './scenes.ts';

const COLUMNS = 80;

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  const options = optionsOf(args);
  if (typeof options === 'string') return complain(options);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const stop = new AbortController();
  const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
  let status = 1;
  for (const [name, code] of Object.entries(signals)) {
    process.once(name, () => {
      status = code;
      stop.abort(new Error(`${name} ended the demo`));
    });
  }
  // The reader of a pipe has gone.
  process.stdout.on('error', (error) => stop.abort(error));
  const recorder = options.record === undefined ? undefined : createRecorder();
  try {
    await playDemo({
      ...options,
      scenes: SCENES,
      write: (text) => process.stdout.write(text),
      columns: process.stdout.columns ?? COLUMNS,
      colours: process.stdout.isTTY && process.env.NO_COLOR === undefined,
      signal: stop.signal,
      looked: options.byHand && process.stdin.isTTY ? () => enterPressed(stop.signal) : undefined,
      record: recorder?.attend,
    });
    recorder?.save(options.record ?? '');
    process.stdout.write('\nThe demo is over. The guard is stopped, and its folder is removed.\n');
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return status;
    if (error instanceof SceneFailed || error instanceof CannotPlay) return complain(error.message);
    return complain(`Cannot play the demo: ${(error as Error).message}`);
  }
}

async function enterPressed(signal: AbortSignal): Promise<void> {
  try {
    await once(process.stdin, 'data', { signal });
  } finally {
    process.stdin.pause();
  }
}

function complain(message: string): number {
  process.stderr.write(`${message}\n`);
  return 1;
}
