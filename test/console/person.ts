/**
 * A person at the console, without a browser: signs in with a key, reads the proof of the page as its script
 * does, and asks the methods of the console's API.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type {
  ConsoleInput,
  ConsoleMethodName,
  ConsoleOperation,
} from '../../src/protocol/console/methods.ts';
import type { ConsoleAnswers } from '../../src/protocol/console/views.ts';
import { PAGES, type Person, personAt } from '../sign-in/browser.ts';
import type { Reply, TestService } from '../support/world.ts';

export interface ConsolePerson extends Person {
  /** The answer of a method; the test ends when the service refuses. */
  answer<Name extends ConsoleMethodName>(
    name: Name,
    input?: ConsoleInput<Name>,
  ): Promise<ConsoleAnswers[Name]>;
  /** The reply to a method or an operation, whatever it is. */
  reply(
    name: ConsoleMethodName | ConsoleOperation,
    input?: object,
    headers?: Record<string, string | undefined>,
  ): Promise<Reply>;
}

/** Signs in with the key of an identity and opens the console. */
export async function atConsole(
  service: Pick<TestService, 'ask'>,
  key: string,
): Promise<ConsolePerson> {
  const person = personAt(service);
  const signedIn = await person.signIn(key);
  assert.equal(signedIn.status, 303, signedIn.text);
  return openConsole(service, person);
}

/** Opens the console for a person who is signed in. */
export async function openConsole(
  service: Pick<TestService, 'ask'>,
  person: Person,
  pages = PAGES,
): Promise<ConsolePerson> {
  const csrf = csrfIn(await person.open('/console/'));
  const reply: ConsolePerson['reply'] = (name, input = {}, headers = {}) => {
    const cookie = [...person.cookies].map(([each, value]) => `${each}=${value}`).join('; ');
    const sent = { host: new URL(pages).host, origin: pages, 'x-writ-csrf': csrf, cookie };
    const given = Object.entries({ ...sent, ...headers }).filter(
      ([, value]) => value !== undefined,
    );
    return service.ask('POST', `/console/api/${name}`, {
      body: input,
      headers: Object.fromEntries(given) as Record<string, string>,
    });
  };
  return {
    ...person,
    reply,
    async answer(name, input) {
      const { status, body, text } = await reply(name, input);
      assert.equal(status, 200, text);
      return body;
    },
  };
}

/** The proof that the page carries for its script. */
function csrfIn({ status, text = '' }: Reply): string {
  assert.equal(status, 200, text);
  const [, csrf] = /<meta name="writ-csrf" content="([^"]+)">/.exec(text) ?? [];
  assert.ok(csrf, 'the page has no proof');
  return csrf;
}
