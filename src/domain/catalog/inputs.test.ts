import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  type FaultRow,
  faultsOf,
  placeOf,
  smallest,
  travelWith,
} from '../../../test/support/declarations.ts';
import { ResolutionMode } from '../../protocol/capability.ts';

const secret = 'it looks like secret material';
const form = 'expected a name such as "airports", "travel/airports.v2" or "crm:customers"';
const name = 'expected a letter, then letters, digits, "_" or "-"';
const input = 'find_flights.inputs.2';

// In the set, input 0 is resolved by the backend, 1 is a plain date, 2 a closed set with a default.
const rules: FaultRow[] = [
  ['find_flights.inputs.1.name', '1day', name],
  ['find_flights.inputs.1.name', '__proto__', name],
  ['find_flights.inputs.1.name', `a${'b'.repeat(64)}`, name],
  ['find_flights.inputs.1.default', '2026-02-30', '"2026-02-30" is not of type "date"'],
  ['find_flights.inputs.1.default', null, 'null is not of type "date"'],
  ['book_flight.inputs.1.default', 1.5, '1.5 is not of type "integer"'],
  [`${input}.default`, 'first', '"first" is not among allowed_values'],
  [`${input}.default`, 'Economy', '"Economy" is not among allowed_values'],
  ['find_flights.inputs.1.allowed_values', ['2026-01-01', 'soon'], '"soon" is not of type "date"'],
  [`${input}.allowed_values`, ['economy', 'economy'], '"economy" appears twice'],
  [`${input}.allowed_values`, undefined, 'mode "closed_values" needs them'],
  [`${input}.allowed_values`, [], 'expected at least 1 item'],
  [
    `${input}.default`,
    undefined,
    '"use_default" needs a default',
    'find_flights inputs[2].resolution.on_missing',
  ],
  ['find_flights.inputs.0.resolution.on_ambiguous', 'use_default', '"use_default" needs a default'],
  [
    'find_flights.inputs.0.resolution.on_unresolved',
    'use_default',
    '"use_default" needs a default',
  ],
  [
    'find_flights.inputs.1.resolution',
    { mode: 'backend_resolved' },
    'mode "backend_resolved" needs a resolver_ref or a catalog_ref',
  ],
  [
    'find_flights.inputs.1.resolution',
    {},
    'expected "closed_values" or "backend_resolved" or "actor_policy" or "actor_policy_or_explicit" or "app_selected" or "explicit_only" or "clarify"',
    'find_flights inputs[1].resolution.mode',
  ],
  ['find_flights.inputs.0.catalog_ref', 'sk_live_airports', secret],
  ['find_flights.inputs.0.resolution.resolver_ref', 'ghp_abc', secret],
  ['find_flights.inputs.0.catalog_ref', ['ABQ'], 'expected a text'],
  ['find_flights.inputs.0.catalog_ref', 'ABQ,JFK', 'expected an identifier, not a value'],
  ['find_flights.inputs.0.catalog_ref', 'token=hunter2', 'expected an identifier, not a value'],
  [
    'find_flights.inputs.0.catalog_ref',
    'postgres://reader:pass@host/airports',
    'expected an identifier, not a value',
  ],
  ['find_flights.inputs.1.default', 10n, 'it has no JSON form'],
  ['find_flights.inputs.1.default', Number.NaN, 'it has no JSON form'],
  ['find_flights.inputs.1.default', new Date(0), 'it has no JSON form'],
  [`${input}.allowed_values`, ['economy', undefined], 'it has no JSON form'],
  ['find_flights.inputs.1.input_meanings', { today: () => 1 }, 'it has no JSON form'],
];
for (const [place, value, words, at = placeOf(place)] of rules) {
  test(`inputFaults reports at ${at}: ${words}`, () => {
    const [capability = '', field = ''] = at.split(' ');

    assert.deepEqual(faultsOf(travelWith(place, value)), [[capability, field, words]]);
  });
}

test('inputFaults reserves the names that transports use', () => {
  const inputs = [{ name: 'svc_grant', type: 'string' }];

  assert.deepEqual(faultsOf({ alone: { ...smallest(), inputs } }), [
    ['alone', 'inputs[0].name', '"svc_" is reserved'],
  ]);
});

test('inputFaults names a repeated input once', () => {
  const inputs = ['a', 'b', 'a', 'a'].map((each) => ({ name: each, type: 'string' }));

  assert.deepEqual(faultsOf({ alone: { ...smallest(), inputs } }), [
    ['alone', 'inputs', '"a" appears twice'],
  ]);
});

test('inputFaults reports every fault of one input', () => {
  const faulty = {
    name: 'svc_key',
    type: 'integer',
    default: 'a',
    allowed_values: ['b'],
    catalog_ref: 'AKIAIOSFODNN7EXAMPLE',
    resolution: { mode: 'closed_values', on_missing: 'deny' },
  };

  assert.deepEqual(
    faultsOf({ alone: { ...smallest(), inputs: [faulty] } }).map(([, field]) => field),
    ['name', 'default', 'allowed_values', 'catalog_ref'].map((field) => `inputs[0].${field}`),
  );
});

const accepted: [name: string, input: Record<string, unknown>][] = [
  [
    'a default among values in another key order',
    {
      type: 'place',
      default: { b: 1, a: 2 },
      allowed_values: [{ a: 2, b: 1 }],
    },
  ],
  [
    'a default that is false',
    {
      type: 'boolean',
      default: false,
      resolution: { mode: 'clarify', on_missing: 'use_default' },
    },
  ],
  [
    'a default that is null, of a type that is a hint',
    {
      type: 'place',
      default: null,
      resolution: { mode: 'clarify', on_missing: 'use_default' },
    },
  ],
  [
    'a backend that a catalog alone names',
    {
      type: 'string',
      catalog_ref: 'airports',
      resolution: { mode: 'backend_resolved' },
    },
  ],
  [
    'a backend that a resolver alone names',
    {
      type: 'string',
      resolution: { mode: 'backend_resolved', resolver_ref: 'airports' },
    },
  ],
  ['a number of another form in a closed set', { type: 'number', allowed_values: [1, 1.5, -1] }],
];
for (const [words, declared] of accepted) {
  test(`inputFaults accepts ${words}`, () => {
    const inputs = [{ name: 'a', ...declared }];
    assert.deepEqual(faultsOf({ alone: { ...smallest(), inputs } }), []);
  });
}

for (const each of ['constructor', 'toString', 'hasOwnProperty', 'valueOf']) {
  test(`inputFaults treats "${each}" as an ordinary input, field and value`, () => {
    const declared = { name: each, type: each, default: each, allowed_values: [each] };
    const output = { type: each, fields: [each] };

    assert.deepEqual(faultsOf({ alone: { ...smallest(), output, inputs: [declared] } }), []);
  });
}

for (const mode of ResolutionMode.options) {
  const needs = ['closed_values', 'backend_resolved'].includes(mode);
  test(`inputFaults ${needs ? 'requires more than' : 'accepts'} mode ${mode} alone`, () => {
    const inputs = [{ name: 'a', type: 'string', resolution: { mode } }];
    assert.equal(faultsOf({ alone: { ...smallest(), inputs } }).length, needs ? 1 : 0);
  });
}

const HONEST = `airports catalogs/airports.v2 catalog:airports resolver:bookings catalog:crm/customers/eu-west-1
  travel/airports.v2 pk_customers sk-regions b2b/partners iso3166_alpha2 iso4217 countries.2026 x
  internationalisation_catalogue passengers passports boarding-passes turkey/airports monkeys secretaries
  bearings sacred_places spinners authors compass catalog catalog.places resolver
  s3:buckets ec2:instances icd10:codes gs1:gtin aws.s3:buckets users/profiles rooted/trees
  crm:customers crm:customers/eu-west-1 turkey:airports Airports airportCodes IATA crm.eu:customerDirectory`;

/** Not names by their form: a login, digits inside a word, capitals anywhere, an address, an empty word. */
const MISSHAPEN = `root.x:toor x.root:toor root/toor admin/admin root.x/toor otp2:123456 user:swordfish root:toor admin:admin
  airports/hunter2:pass catalog:root:toor catalog: catalog:/airports pin:123456
  https://hooks.example/services/abc urn:catalog:airports Tr0ub4dor-passphrase AIzaSyAB AKIAIOSFODNN
  AKIAIOSFODNN7EXAMPLE eyJhbGciOiJFUzI1NiJ9.e30.c2ln sk_live_4eC39HqLyjWDarjtT1zdp7dc sk-T3BlbkFJ0123456789abcdef
  airports/d41d8cd98f00b204e9800998ecf8427e c9f0f895-fb98-4b91-99f5-1fd0297e236d a0123bcdef/regions airports-
  airports..eu airports//eu pincode123456 abcdefghijklmnopqrstuvwxyz`;

const SECRETS = `hunter2:pw hunter2:Password1 hunter2:passwords whsec_abc npm_abc hf_abc dop_v1_abc catalog:hf_abc pw:swordfish creds:abc sshkey:abc pin:1234 otp:1234 password:hunter hunter:password
  correcthorse:secret/airports abc:apiKey Bearer:abcdefgh dbPassword myApiKey airports:ghp_abc password.swordfish swordfish-password client_secret.abcdef bearer.abcdefghijk hunter2_password
  hunter2.password password-hunter2 catalog:password catalog:swordfish/passwords api_key/abc apikey.abc sshkey-abc
  ssh_keys pin.1234 pins otp-1234 creds.abc db_creds swordfish_pw pw pass.abc accesstoken.abc token_types tokens
  secret-santa password_policies passwordswordfish credential_kinds dbpassword1 my.jwt auth/abc
  airports/sk_live_abc catalog:ghp_abc glpat-abc sk-proj-abc sk-ant-x rk_test_abc xoxb-123 github_pat_abc`;

const references: [texts: string, fault: string | undefined][] = [
  [HONEST, undefined],
  [MISSHAPEN, form],
  [SECRETS, secret],
];
for (const [texts, found] of references) {
  for (const reference of texts.split(/\s+/)) {
    test(`inputFaults ${found ? 'refuses' : 'accepts'} the reference "${reference}"`, () => {
      const mode = 'clarify';
      const inputs = [
        { name: 'a', type: 'string', catalog_ref: reference },
        { name: 'b', type: 'string', resolution: { mode, resolver_ref: reference } },
      ];
      const fields = ['inputs[0].catalog_ref', 'inputs[1].resolution.resolver_ref'];
      const faults = found ? fields.map((field) => ['alone', field, found]) : [];

      assert.deepEqual(faultsOf({ alone: { ...smallest(), inputs } }), faults);
    });
  }
}
