/**
 * The scenarios: the same stories about the travel desk, told over any surface.
 *
 * For authors of transports. The desk has its demo identities and nothing else; the stories share one
 * desk, run one after another, and leave nothing frozen behind. Each looks only at what a caller sees.
 *
 * @module
 */

import type { Runner } from './runner.ts';
import { APPROVAL_SCENARIOS } from './scenarios-approval.ts';
import { AUTHORITY_SCENARIOS } from './scenarios-authority.ts';
import type { Scenarios } from './scenarios-desk.ts';
import { INVOCATION_SCENARIOS } from './scenarios-invocation.ts';
import { LOG_SCENARIOS } from './scenarios-log.ts';
import { REFUSAL_SCENARIOS } from './scenarios-refusals.ts';
import type { Surface } from './surface.ts';

const STORIES: Readonly<Record<string, Scenarios>> = {
  authority: AUTHORITY_SCENARIOS,
  invocation: INVOCATION_SCENARIOS,
  refusals: REFUSAL_SCENARIOS,
  approval: APPROVAL_SCENARIOS,
  log: LOG_SCENARIOS,
};

/** In milliseconds. Only to end a story that hangs. */
const STORY_TIMEOUT_MS = 30_000;

/** `surface` is asked when a story runs, so that it may be opened after the stories are named. */
export function surfaceScenarios(name: string, surface: () => Surface, runner: Runner): void {
  runner.describe(`the travel desk ${name}`, () => {
    for (const [subject, scenarios] of Object.entries(STORIES)) {
      runner.describe(subject, () => {
        for (const [sentence, tell] of Object.entries(scenarios)) {
          runner.test(sentence, () => tell(surface()), STORY_TIMEOUT_MS);
        }
      });
    }
  });
}
