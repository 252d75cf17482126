/**
 * The scenarios: the same requests to the travel desk, over any surface.
 *
 * For authors of transports. The desk has only its demo identities; the scenarios share one desk, run one
 * after another, and leave nothing frozen. Each checks only what a caller sees. All run over every surface; a
 * surface with only some operations sends the others over another one.
 *
 * @module
 */

import type { Runner } from '../runner.ts';
import { APPROVAL_SCENARIOS } from './approval.ts';
import { AUTHORITY_SCENARIOS } from './authority.ts';
import type { Scenarios } from './desk.ts';
import { INVOCATION_SCENARIOS } from './invocation.ts';
import { LOG_SCENARIOS } from './log.ts';
import { REFUSAL_SCENARIOS } from './refusals.ts';
import type { Surface } from './surface.ts';

const STORIES: Readonly<Record<string, Scenarios>> = {
  authority: AUTHORITY_SCENARIOS,
  invocation: INVOCATION_SCENARIOS,
  refusals: REFUSAL_SCENARIOS,
  approval: APPROVAL_SCENARIOS,
  log: LOG_SCENARIOS,
};

/**
 * The scenarios without a step over MCP, with the reason. In every other scenario the calls go over tools.
 *
 * @example
 * import { STORIES_WITHOUT_TOOLS } from 'writ/testing';
 *
 * const goesOverTools = (sentence: string) => !Object.hasOwn(STORIES_WITHOUT_TOOLS, sentence);
 * console.log(goesOverTools('the manifest comes with its signature'));
 */
export const STORIES_WITHOUT_TOOLS = {
  'anyone may learn what the service offers and with which keys it signs': 'no call',
  'the manifest comes with its signature': 'no call',
  'the capabilities tell how they hang together, and which versions fit': 'no call',
  'a delegated token has what it asked for of its parent, and inherits the rest': 'no call',
  'a delegated token never gets more than its parent has': 'no call',
  'a revocation ends everything below the token at once': 'no call',
  'an operator adds a key of its own, lists it and removes it': 'no call',
  'a dry run says what would happen, and nothing happens': 'no call',
  'a stream says that it begins, and each event whose it is': 'a tool tells of its steps alone',
  'an operator sees no call of unknown outcome and no notification': 'no call',
  'streaming_not_supported says what to do next': 'a tool streams where it can',
  'authentication_required says what to do next': 'no call',
  'invalid_token says what to do next': 'no call',
  'token_expired says what to do next': 'no call',
  'scope_escalation says what to do next': 'no call',
  'not_entitled says what to do next': 'no call',
  'delegation_depth_exceeded says what to do next': 'no call',
  'not_found says what to do next': 'no call',
} as const satisfies Readonly<Record<string, string>>;

/** In milliseconds. Only to end a story that hangs. */
const STORY_TIMEOUT_MS = 30_000;

/**
 * Defines one test for each scenario. `surface` is asked when a story runs, so that it may be opened after the
 * stories are named.
 *
 * @example
 * import { overHttp, surfaceScenarios } from 'writ/testing';
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
          runner.test(sentence, () => tell(surface()), STORY_TIMEOUT_MS);
        }
      });
    }
  });
}
