/**
 * CHANGELOG.md has the usual form, and a tag is published only when the changelog tells its changes.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'vitest';
import { changelogFaults, notesOf, releaseFaults } from '../../scripts/release.ts';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

const GOOD = `# Changelog

## [Unreleased]

### Added

#### Client

- One thing.

## [1.1.0] - 2026-03-01

### Added

- Another thing.

### Security

- A hole is closed.

## [1.0.0] - 2026-02-01

### Added

- Everything.
`;

test('CHANGELOG.md has the form of a changelog, for the version of package.json', () => {
  assert.deepEqual(changelogFaults(readFileSync('CHANGELOG.md', 'utf8'), version), []);
});

test('changelogFaults() finds nothing in a changelog of several releases, with or without unreleased changes', () => {
  const nothing = GOOD.replace('### Added\n\n#### Client\n\n- One thing.\n\n', '');

  assert.deepEqual(changelogFaults(GOOD, '1.1.0'), []);
  assert.deepEqual(changelogFaults(nothing, '1.2.0'), []);
});

const FAULTS: [change: [from: string, to: string], fault: RegExp][] = [
  [['## [Unreleased]\n', '## Unreleased\n'], /the first section is not \[Unreleased\]/],
  [['### Security', '### Hardening'], /"### Hardening" is neither a heading nor/],
  [['### Security', '### Added'], /each kind stands once/],
  [['### Added\n\n- Another', '### Security\n\n- Another'], /each kind stands once/],
  [['## [1.1.0]', '## [1.2.0]'], /1\.2\.0 stands below 1\.1\.0/],
  [['## [1.0.0]', '## [1.1.0]'], /1\.1\.0 stands below 1\.1\.0/],
  [['2026-02-01', '2026-04-01'], /2026-04-01 stands below 2026-03-01/],
  [
    ['## [1.0.0] - 2026-02-01', '## [1.0] - 2026-02-01'],
    /"\[1\.0\] - 2026-02-01" is not of the form/,
  ],
  [['- A hole is closed.\n', ''], /"### Security" has no change/],
  [['- One thing.\n', ''], /"#### Client" has no change/],
  [['### Added\n\n- Everything.\n', ''], /\[1\.0\.0\] - 2026-02-01 has no change/],
  [['#### Client', '##### Client'], /"##### Client" is neither/],
  [['- One thing.', '- One\n  thing.'], /"- One" is neither/],
  [['- One thing.', '* One thing.'], /"\* One thing\." is neither/],
  [['- One thing.', '- One thing'], /nor a change with a full stop/],
];

for (const [[from, to], fault] of FAULTS) {
  test(`changelogFaults() finds ${JSON.stringify(to)}`, () => {
    assert.ok(GOOD.includes(from));
    const faults = changelogFaults(GOOD.replace(from, to), '1.1.0');

    assert.match(faults.join('\n'), fault);
  });
}

test('changelogFaults() finds kinds in another order', () => {
  const swapped = GOOD.replace('### Added\n\n- Another', '### Fixed\n\n- Another').replace(
    '### Security',
    '### Changed',
  );

  assert.match(changelogFaults(swapped, '1.1.0').join('\n'), /in the order Added, Changed/);
});

test('releaseFaults() wants the tag, package.json and the newest release to be one version, and nothing unreleased', () => {
  const released = GOOD.replace('### Added\n\n#### Client\n\n- One thing.\n\n', '');

  assert.deepEqual(releaseFaults(released, '1.1.0', 'v1.1.0'), []);
  assert.match(`${releaseFaults(released, '1.1.0', 'v1.0.0')}`, /the tag is "v1\.0\.0"/);
  assert.match(`${releaseFaults(released, '1.2.0', 'v1.2.0')}`, /"1\.1\.0" as its newest release/);
  assert.match(`${releaseFaults(GOOD, '1.1.0', 'v1.1.0')}`, /1 changes under \[Unreleased\]/);
});

test('notesOf() gives the changes of one release', () => {
  assert.equal(notesOf(GOOD, '1.0.0'), '### Added\n\n- Everything.');
});
