/**
 * The scenarios: the same requests to the travel desk, over any surface.
 *
 * For authors of a service, a client or a transport in any language. The desk has only its demo identities; the scenarios share one desk, run one
 * after another, and leave nothing frozen. Each checks only what a caller sees. All run over every surface; a
 * surface with only some operations sends the others over another one.
 *
 * @module
 */

import { APPROVAL_SCENARIOS } from './approval.ts';
import { AUTHORITY_SCENARIOS } from './authority.ts';
import { deskOver, type Scenarios } from './desk.ts';
import { INVOCATION_SCENARIOS } from './invocation.ts';
import { LOG_SCENARIOS } from './log.ts';
import { REFUSAL_SCENARIOS } from './refusals.ts';
import type { Runner } from './runner.ts';
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

/**
 * Defines one test for each scenario. `surface` is asked when a story runs, so that it may be opened after the
 * stories are named.
 *
 * @example
 * import { overHttp, surfaceScenarios } from 'writ/conformance';
 *
 * const sentences: string[] = [];
 * surfaceScenarios('over our proxy', () => overHttp('http://127.0.0.1:8420'), {
 *   describe: (_, body) => body(),
 *   test: (sentence) => void sentences.push(sentence),
 * });
 * console.log(sentences.length);
 */
export function surfaceScenarios(name: string, surface: () => Surface, runner: Runner): void {
  runner.describe(`the travel desk ${name}`, () => {
    for (const [subject, scenarios] of Object.entries(STORIES)) {
      runner.describe(subject, () => {
        for (const [sentence, tell] of Object.entries(scenarios)) {
          runner.test(sentence, () => tell(deskOver(surface())), STORY_TIMEOUT_MS);
        }
      });
    }
  });
}
