/**
 * Forged tokens: every text here claims the authority of a real token, and none was made by the service.
 *
 * @module
 */

import { createPublicKey } from 'node:crypto';
import type { Case } from '../case.ts';
import { field, listAt, textAt } from '../target/fields.ts';
import {
  encoded,
  jwtParts,
  ownJwk,
  type Parts,
  signedByOwnKey,
  signedBySecret,
} from '../target/jwt.ts';
import {
  broken,
  count,
  eachAttempt,
  held,
  NotApplicable,
  noneAccepted,
  type Outcome,
} from '../target/outcome.ts';
import { acceptedToken, permissionsAs, type Token, type World } from '../target/world.ts';

const BASIS = 'Delegation token validation 2: the signature verifies against the service JWKS';

/** A forged text, and what it is. */
type Forged = readonly [what: string, bearer: string];

/** Presents each text where any accepted token gets an answer. */
async function presented(
  world: World,
  forge: (parts: Parts, token: Token) => readonly Forged[],
): Promise<Outcome> {
  const token = await acceptedToken(world);
  // A changed claim may be what it was before.
  const forged = forge(jwtParts(token.jwt), token).filter(([, bearer]) => bearer !== token.jwt);
  const attempts = await eachAttempt(forged, async ([what, bearer]) => ({
    what,
    answer: await permissionsAs(world, bearer),
  }));
  return noneAccepted(attempts);
}

/** Every bit of the signature is one too many; some of each byte are enough to see a careless comparison. */
const FLIPS = 24;

function flipped({ spelt: [header, claims, signature] }: Parts): Forged[] {
  const bytes = Buffer.from(signature, 'base64url');
  return Array.from({ length: Math.min(FLIPS, bytes.length) }, (_, index) => {
    const changed = Buffer.from(bytes);
    const at = Math.floor((index * bytes.length) / FLIPS);
    changed[at] = (changed[at] ?? 0) ^ (1 << (index % 8));
    return [
      `bit ${index % 8} of byte ${at} of the signature`,
      `${header}.${claims}.${changed.toString('base64url')}`,
    ];
  });
}

/** The original signature under claims that grant more. */
function widened({ spelt: [header, , signature], claims }: Parts): Forged[] {
  const far = 4_102_444_800;
  const changes: Record<string, object> = {
    'another subject': { sub: 'human:writ-attack' },
    'more scope': { scope: ['*', 'operator:*', 'approver:*'] },
    'scope as text': { scope: '*' },
    'a later end': { exp: far, expires: new Date(far * 1_000).toISOString() },
    'another id': { jti: 'tok_00000000000000000000000000' },
    'another root principal': { root_principal: 'human:writ-attack' },
    'no constraints': { constraints: {}, capability: null, purpose: {} },
    'another class': { caller_class: 'internal' },
  };
  return Object.entries(changes).map(([what, change]) => [
    `${what}, under the old signature`,
    `${header}.${encoded({ ...claims, ...change })}.${signature}`,
  ]);
}

const NONES = ['none', 'None', 'NONE', 'nOnE', ''];

function unsigned({ header, spelt: [, claims, signature] }: Parts): Forged[] {
  return NONES.flatMap((alg): Forged[] => {
    const start = `${encoded({ ...header, alg })}.${claims}`;
    return [
      [`alg "${alg}" without a signature`, `${start}.`],
      [`alg "${alg}" with the old signature`, `${start}.${signature}`],
    ];
  });
}

function cutOff({ spelt: [header, claims, signature] }: Parts): Forged[] {
  const zeros = (length: number) => Buffer.alloc(length).toString('base64url');
  return [
    ['no signature', `${header}.${claims}.`],
    ['no third part', `${header}.${claims}`],
    ['a signature of zeros', `${header}.${claims}.${zeros(64)}`],
    ['a signature of one byte', `${header}.${claims}.${zeros(1)}`],
    ['half of the signature', `${header}.${claims}.${signature.slice(0, signature.length / 2)}`],
    ['the signature twice', `${header}.${claims}.${signature}${signature}`],
    ['a fourth part', `${header}.${claims}.${signature}.${signature}`],
    ['no header', `.${claims}.${signature}`],
    ['no claims', `${header}..${signature}`],
  ];
}

/** The public key in the forms in which a careless service keeps it. */
function publicTexts(jwk: unknown): (readonly [string, string | Buffer])[] {
  const texts: [string, string | Buffer][] = [['the key as JSON', JSON.stringify(jwk)]];
  const [x, y] = [textAt(jwk, 'x'), textAt(jwk, 'y')];
  if (x !== undefined) texts.push(['its x coordinate', x]);
  if (x === undefined || y === undefined) return texts;
  try {
    const key = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
    texts.push(['the key as PEM', key.export({ format: 'pem', type: 'spki' })]);
    texts.push(['the key as DER', key.export({ format: 'der', type: 'spki' })]);
  } catch {
    // A set with a key that is no point of the curve is judged by another case.
  }
  return texts;
}

function bySecret({ header, claims }: Parts, world: World): Forged[] {
  const kid = textAt(header, 'kid');
  const keys = listAt(world.service.jwks, 'keys');
  const key = keys.find((each) => textAt(each, 'kid') === kid) ?? keys[0];
  const secrets = [
    ...publicTexts(key),
    ['the empty text', ''] as const,
    ['the key id', kid ?? 'kid'] as const,
  ];
  return secrets.map(([what, secret]) => [
    `HS256 with ${what} as secret`,
    signedBySecret({ ...header, alg: 'HS256' }, claims, secret),
  ]);
}

/** Names of keys that a careless service looks up in files, tables or objects. */
const KIDS = [
  '../../../../../../dev/null',
  "' OR '1'='1",
  '__proto__',
  'constructor',
  '',
  'k'.repeat(2_000),
];

function ownKeys({ header, claims }: Parts): Forged[] {
  const jwk = ownJwk();
  const outside = 'https://writ-attack.invalid/jwks.json';
  return [
    ['the key id of the service', signedByOwnKey(header, claims)],
    ['a key in the header', signedByOwnKey({ ...header, jwk }, claims)],
    [
      'a key in the header, under its own id',
      signedByOwnKey({ ...header, kid: 'own', jwk }, claims),
    ],
    ['an address of keys in the header', signedByOwnKey({ ...header, jku: outside }, claims)],
    [
      'a certificate in the header',
      signedByOwnKey({ ...header, x5u: outside, x5c: ['MA=='] }, claims),
    ],
    ['no key id', signedByOwnKey({ alg: 'ES256', typ: header.typ }, claims)],
    ['a key id that is a list', signedByOwnKey({ ...header, kid: [header.kid] }, claims)],
    ...KIDS.map(
      (kid): Forged => [
        `the key id ${JSON.stringify(kid.slice(0, 30))}`,
        signedByOwnKey({ ...header, kid }, claims),
      ],
    ),
  ];
}

/** What else the service signed, made to look like a token. */
async function otherArtefacts(world: World): Promise<Forged[]> {
  const forged: Forged[] = [];
  const detached = (what: string, signature: string | undefined, payload: string) => {
    const [header, , last] = (signature ?? '').split('.');
    if (!header || !last) return;
    const middle = Buffer.from(payload).toString('base64url');
    forged.push([what, `${header}.${middle}.${last}`]);
  };
  const { manifest } = world.service;
  const signature = manifest.headers['x-svc-signature'];
  // A manifest is longer than a header can be; its signature alone is presented then.
  const short = manifest.text.length < 4_000 ? manifest.text : '';
  detached(
    'the signature of the manifest',
    typeof signature === 'string' ? signature : undefined,
    short,
  );
  const path = world.service.endpoints.get('checkpoints');
  if (path !== undefined) {
    const list = await world.wire.ask({ method: 'GET', path });
    const [checkpoint] = listAt(list.json, 'checkpoints');
    detached(
      'the signature of a checkpoint',
      textAt(checkpoint, 'signature'),
      JSON.stringify(checkpoint),
    );
  }
  const successors = listAt(world.service.jwks, 'svc_successors');
  for (const each of successors.slice(0, 2)) {
    if (typeof each === 'string') forged.push(['the statement of a successor key', each]);
  }
  return forged;
}

export const forgeryCases: readonly Case[] = [
  {
    id: 'tokens.unsigned',
    tries: 'A token whose header names no signature algorithm, in five spellings.',
    holds: 'The service refuses it.',
    basis: BASIS,
    run: (world) => presented(world, unsigned),
  },
  {
    id: 'tokens.algorithm-confusion',
    tries:
      'A token with an HMAC whose secret is public: the published key, its id, the empty text.',
    holds: 'The service refuses it.',
    basis: BASIS,
    run: (world) => presented(world, (parts) => bySecret(parts, world)),
  },
  {
    id: 'tokens.cut-signature',
    tries: 'A token without its signature, with a part of it, with zeros in its place.',
    holds: 'The service refuses it.',
    basis: BASIS,
    run: (world) => presented(world, cutOff),
  },
  {
    id: 'tokens.flipped-bits',
    tries: 'A token with one changed bit in its signature, at many places.',
    holds: 'The service refuses each.',
    basis: BASIS,
    run: (world) => presented(world, flipped),
  },
  {
    id: 'tokens.changed-claims',
    tries: 'A token with wider claims under the signature of the narrow one.',
    holds: 'The service refuses each.',
    basis: BASIS,
    run: (world) => presented(world, widened),
  },
  {
    id: 'tokens.own-key',
    tries:
      'A token signed by a key of the attacker, which the header names in every way that the standards know.',
    holds: 'The service verifies with its own keys only, and refuses each.',
    basis: BASIS,
    run: (world) => presented(world, ownKeys),
  },
  {
    id: 'tokens.other-artefact',
    tries:
      'What the service signed for another purpose (manifest, checkpoint, successor) as a token.',
    holds: 'The service refuses each.',
    basis:
      'What the service does: a delegation token, an approval grant and a credential are distinct',
    async run(world) {
      const forged = await otherArtefacts(world);
      if (forged.length === 0)
        throw new NotApplicable('the service signs nothing else that is a JWS');
      return presented(world, () => forged);
    },
  },
  {
    id: 'tokens.wrong-proof',
    tries: 'A token id, a bootstrap credential or a principal in the place of a delegation token.',
    holds: 'The service refuses each: only a delegation token proves bounded authority.',
    basis: 'POST /svc/permissions, auth: delegation JWT',
    run: (world) =>
      presented(world, ({ claims }, { id }) => [
        ['the id of the token', id],
        ...(world.self.tokenId === undefined
          ? [['the bootstrap credential', world.self.credential] as const]
          : []),
        ['the subject', encodeURI(String(claims.sub ?? 'human:writ-attack'))],
        ['the word "null"', 'null'],
      ]),
  },
  {
    id: 'tokens.private-keys',
    tries: 'Reading private members out of the published key set.',
    holds: 'The set has public members of P-256 keys only.',
    basis: 'JWKS: kty, crv, x, y, kid, use, alg',
    async run(world) {
      const keys = listAt(world.service.jwks, 'keys');
      if (keys.length === 0) throw new NotApplicable('the key set is empty');
      const secret = ['d', 'k', 'p', 'q', 'dp', 'dq', 'qi'];
      const found = keys.flatMap((key) => secret.filter((name) => field(key, name) !== undefined));
      return found.length > 0
        ? broken(`a key has the private member "${found[0]}"`)
        : held(`${count(keys.length, 'key')} without a private member`);
    },
  },
];
