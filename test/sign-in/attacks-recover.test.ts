/**
 * A store that was put back, and an operator who accepts the loss: whatever sign-in gave before is void.
 */

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'vitest';
import { pagesUrl } from '../../src/address/host.ts';
import {
  type Desk,
  FIRST_OPERATOR,
  life,
  ownFolder,
  PLACES,
  type Place,
  writ,
} from '../log/restored-desk.ts';
import type { Reply, TestService } from '../support/world.ts';
import { type Coded, codeFor, redeem, refresh } from './attacker.ts';
import { delegation, personAt } from './browser.ts';

ownFolder();

/** The desk as the rig of a browser asks it. */
function asked({ url }: Desk): Pick<TestService, 'ask'> {
  return {
    async ask(method, path, { body, headers = {} } = {}): Promise<Reply> {
      // The address of a desk has a port of its own.
      const { host: _, origin: __, ...rest } = headers;
      const response = await fetch(`${pagesUrl(url)}${path}`, {
        method,
        headers: rest,
        redirect: 'manual',
        ...(body !== undefined && { body: String(body) }),
      });
      const text = await response.text();
      const isJson = response.headers.get('content-type')?.includes('json');
      return {
        status: response.status,
        text,
        body: isJson ? JSON.parse(text) : text,
        headers: {
          ...Object.fromEntries(response.headers),
          'set-cookie': response.headers.getSetCookie(),
        },
      };
    },
  };
}

interface Before {
  readonly secret: string;
  readonly coded: Coded;
  readonly access: string;
  readonly refresh: string;
}

async function signedInLife(desk: Desk): Promise<Before> {
  const service = asked(desk);
  const person = personAt(service);
  await person.signIn('alice-key');
  const given = await delegation(service, { chosen: ['look'] }, { person });
  const coded = await codeFor(person, { chosen: ['look'] });
  await desk.seal();
  const [secret = ''] = [...person.cookies]
    .filter(([name]) => name.includes('session'))
    .map(([, value]) => value);
  return { secret, coded, access: given.access, refresh: given.refresh };
}

/** What is left of an earlier life: the statuses of session, access token, code and refresh token. */
async function left(desk: Desk, before: Before): Promise<number[]> {
  const service = asked(desk);
  const person = personAt(service);
  await person.signIn('alice-key');
  // The name of the cookie has the address, which is another one in each life.
  for (const name of person.cookies.keys()) person.cookies.set(name, before.secret);
  const page = await person.open('/agents');
  const call = await desk.invoke(before.access, 'look');
  const code = await redeem(service, before.coded);
  const renewed = await refresh(service, before.refresh);
  return [page.status, call.status, code.status, renewed.status];
}

for (const [name, open] of Object.entries(PLACES)) {
  describe(name, () => {
    let place: Place;
    beforeEach(async () => {
      place = await open();
    });

    test('sessions, codes and refresh tokens outlive a restart', async () => {
      const before = await life(place, signedInLife);
      await life(place, async (desk) => {
        assert.deepEqual(await left(desk, before), [200, 200, 200, 200]);
      });
    });

    test('after writ recover --accept-loss sessions, codes and refresh tokens are void', async () => {
      const before = await life(place, signedInLife);
      await place.keep();
      await life(place, async (desk) => {
        const token = await desk.issue();
        for (let count = 0; count < 3; count++) await desk.invoke(token, 'look');
        await desk.seal();
      });
      await place.restore();
      await life(place, async (desk) => {
        const service = asked(desk);
        const renewed = await refresh(service, before.refresh);
        assert.equal(renewed.status, 503, 'before an operator decided');
        assert.equal((await redeem(service, before.coded)).status, 503);
      });
      const recovered = await writ(['recover', '--accept-loss'], place, FIRST_OPERATOR);
      assert.equal(recovered.status, 0, recovered.err);

      await life(place, async (desk) => {
        assert.deepEqual(await left(desk, before), [303, 401, 400, 400]);
      });
    });
  });
}
