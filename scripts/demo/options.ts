/**
 * The options of `npm run demo`, and its help.
 *
 * @module
 */

import { parseArgs } from 'node:util';

export const HELP = `Usage: npm run demo -- [options]

Plays five scenes in the terminal: a guarded payments server, an agent with 300 USD, a refund that a
person approves with a passkey, the end of the agent, and an edited database. Everything is real and
local: the guard, its pages, its log. The guard and its folder are removed at the end.

Options:
  --pace <seconds>  time to read between scenes (default: 8); 0 plays at once
  --slow            the same as --pace 20
  --by-hand         you are the person: the demo prints addresses and waits for you
  --no-passkey      the refund is approved without a passkey, for a browser that has none
  --record <file>   writes an animated PNG of the demo, by ffmpeg
  --help            this text
`;

const PACE = 8;
const PACE_SLOW = 20;
const PACE_MAX = 600;

interface Options {
  readonly help: boolean;
  readonly byHand: boolean;
  readonly passkey: boolean;
  readonly pace: number;
  readonly record: string | undefined;
}

/** The options, or what is wrong with them. */
export function optionsOf(args: string[]): Options | string {
  const read = () =>
    parseArgs({
      args,
      options: {
        help: { type: 'boolean', short: 'h' },
        'by-hand': { type: 'boolean' },
        'no-passkey': { type: 'boolean' },
        slow: { type: 'boolean' },
        pace: { type: 'string' },
        record: { type: 'string' },
      },
    }).values;
  let values: ReturnType<typeof read>;
  try {
    values = read();
  } catch (error) {
    return `Cannot play the demo: ${(error as Error).message}`;
  }
  const usual = values.slow === true ? PACE_SLOW : PACE;
  const pace = values.record === undefined ? Number(values.pace ?? usual) : 0;
  if (!(pace >= 0 && pace <= PACE_MAX)) {
    return `Cannot play the demo: --pace is "${values.pace}", expected 0 to ${PACE_MAX} seconds`;
  }
  if (values.record !== undefined && values['by-hand']) {
    return 'Cannot record the demo: with --by-hand your browser shows the pages; leave it out';
  }
  return {
    help: values.help === true,
    byHand: values['by-hand'] === true,
    passkey: values['no-passkey'] !== true,
    pace,
    record: values.record,
  };
}
