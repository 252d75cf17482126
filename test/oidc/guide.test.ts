import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'vitest';
import { parse } from 'yaml';
import { configOf, loadConfig } from '../../src/config/config.ts';
import { OidcIssuer, ProviderClient } from '../../src/config/parts.ts';

const [, guide = ''] =
  /^## Identity providers\n([\s\S]*?)^## /m.exec(readFileSync('docs/sign-in.md', 'utf8')) ?? [];

function blocks(language: string): string[] {
  const fence = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'gm');
  return [...guide.matchAll(fence)].map(([, text = '']) => text);
}

test('every configuration in the guide is valid as printed', () => {
  const configs = blocks('yaml').map((text) => configOf(parse(text), '.'));

  assert.deepEqual(
    configs.map(({ oidc }) => oidc.length),
    [1, 2, 1],
  );
  assert.equal(configs[0]?.entitlements.length, 2);
});

test('the variables of the guide configure one issuer', async () => {
  const [first = ''] = blocks('sh');
  const environment = Object.fromEntries(
    first
      .trim()
      .split('\n')
      .map((line) => line.split('=') as [string, string]),
  );

  const { oidc } = await loadConfig('.', {}, environment);

  assert.equal(oidc[0]?.issuer, 'https://login.example.com/realms/staff');
  assert.equal(oidc[0]?.audience, 'https://desk.example.com');
});

test('the guide explains exactly the rules of an issuer', () => {
  const [table = ''] = /^\| rule \|[\s\S]*?\n\n/m.exec(guide) ?? [];
  const rules = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);

  assert.deepEqual(rules, Object.keys(OidcIssuer.shape));
});

test('the guide explains exactly the members of sign_in', () => {
  const [table = ''] = /^\| member \|[\s\S]*?\n\n/m.exec(guide) ?? [];
  const members = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);

  assert.deepEqual(members, Object.keys(ProviderClient.shape));
});
