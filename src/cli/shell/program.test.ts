import { expect, test } from 'vitest';
import { type Entry, type Io, leaf } from './command.ts';
import { CommandFault, EXIT_CREDENTIAL, EXIT_FAILED, EXIT_OK } from './exit.ts';
import { choice, flag, list, needed, number, value } from './options.ts';
import { printFacts, printTable, startProgress } from './output.ts';
import { runProgram } from './program.ts';

/** What a command printed, and what it was given. */
interface Ran {
  readonly status: number;
  readonly out: string;
  readonly err: string;
  readonly given: unknown;
  readonly loaded: readonly string[];
}

async function ran(argv: readonly string[], fails?: Error): Promise<Ran> {
  let [out, err, given]: [string, string, unknown] = ['', '', undefined];
  const loaded: string[] = [];
  const io: Io = {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    env: {},
  };
  const show = leaf({
    name: 'show',
    summary: 'show a thing',
    operands: { id: needed('<id>', 'the thing'), more: list('<more>', 'others') },
    options: {
      pin: list('<kid>', 'a key'),
      'max-uses': number('<n>', 'how often'),
      kind: choice(['small', 'large'], 'its size'),
      out: value('<file>', 'where to'),
      json: flag('as JSON'),
    },
    examples: [['writ things show t1', 'one of them']],
    cannot: 'show the thing',
    async run(found) {
      if (fails) throw fails;
      given = found;
      return EXIT_OK;
    },
  });
  const entries: Entry[] = [
    {
      name: 'things',
      summary: 'things of the store',
      load: async () => {
        loaded.push('things');
        return { name: 'things', summary: 'things of the store', commands: [show] };
      },
    },
    {
      name: 'other',
      summary: 'another command',
      load: async () => {
        loaded.push('other');
        return { ...show, name: 'other' };
      },
    },
  ];
  const status = await runProgram(entries, argv, io);
  return { status, out, err, given, loaded };
}

test('a command gets its operands and options by name, and absent ones as nothing', async () => {
  const { status, given, loaded } = await ran([
    'things',
    'show',
    't1',
    '--pin',
    '-x',
    '--pin',
    'y',
  ]);
  expect(status).toBe(EXIT_OK);
  expect(given).toEqual({
    id: 't1',
    more: [],
    pin: ['-x', 'y'],
    'max-uses': undefined,
    kind: undefined,
    out: undefined,
    json: false,
  });
  expect(loaded, 'only the module of the command that was asked for').toEqual(['things']);
});

test.each([
  [['things', 'show'], 'missing required argument "id"'],
  [['things', 'show', 't', '--pni', 'x'], 'unknown option "--pni" (Did you mean --pin?)'],
  [['things', 'show', 't', '--pin'], 'argument missing'],
  [['things', 'show', 't', '--out', '--json'], 'Expected a value, not another option'],
  [['things', 'show', 't', '--out', '--kind=small'], 'Expected a value, not another option'],
  [['things', 'show', 't', '--out', '-h'], 'Expected a value, not another option'],
  [['things', 'show', 't', '--max-uses', '0'], 'Expected a positive whole number'],
  [['things', 'show', 't', '--kind', 'huge'], 'Expected one of small, large'],
  [['things', 'shwo'], 'unknown command "shwo" (Did you mean show?)'],
  [['thinsg'], 'unknown command "thinsg" (Did you mean things?)'],
  [['--frob'], 'unknown option "--frob"'],
])('%j is refused in one line', async (argv, message) => {
  const { status, out, err } = await ran(argv);
  expect({ status, out }).toEqual({ status: EXIT_FAILED, out: '' });
  expect(err).toContain(message);
  expect(err.split('\n'), 'one line').toEqual([expect.stringMatching(/^Cannot run "writ/), '']);
});

test('an error repeats no operand and no value of an unknown option: they may be secrets', async () => {
  for (const argv of [
    ['things', 'show', 'canary', '--pni', 'canary'],
    ['things', 'show', '--token=canary', 't'],
    ['other', 'canary', '--json', '--max-uses'],
  ]) {
    const { status, err } = await ran(argv);
    expect(status).toBe(EXIT_FAILED);
    expect(err).not.toContain('canary');
  }
});

test('an argument that would act on the terminal is written out', async () => {
  const { err } = await ran(['th\u001b[31mings']);
  expect(err).toContain('\\u{1b}');
});

test('an error of a command is one line, with the status it names', async () => {
  const plain = await ran(['things', 'show', 't'], new Error('no such\n  thing \u001b[2J'));
  expect(plain).toMatchObject({
    status: EXIT_FAILED,
    err: 'Cannot show the thing: no such; thing \\u{1b}[2J\n',
  });
  const list = await ran(['things', 'show', 't'], new Error('Cannot start with this:\n  a\n  b'));
  expect(list.err).toBe('Cannot start with this: a; b\n');
  const fault = new CommandFault('Cannot proceed: it has expired', { exit: EXIT_CREDENTIAL });
  expect(await ran(['things', 'show', 't'], fault)).toMatchObject({
    status: EXIT_CREDENTIAL,
    err: 'Cannot proceed: it has expired\n',
  });
});

test('help names operands, options and examples, and is an answer', async () => {
  const { status, out, err } = await ran(['things', 'show', '--help']);
  expect({ status, err }).toEqual({ status: EXIT_OK, err: '' });
  for (const text of ['<id> [more...]', '--max-uses <n>', '# one of them', 'writ things show t1']) {
    expect(out).toContain(text);
  }
});

test('without a command, the list of commands is printed and nothing ran', async () => {
  const { status, out, err, loaded } = await ran([]);
  expect({ status, out, loaded }).toEqual({ status: EXIT_FAILED, out: '', loaded: [] });
  expect(err).toContain('another command');
});

test('tables align their columns, and colour only a terminal without NO_COLOR', () => {
  const printed = (io: Partial<Io>) => {
    let text = '';
    const out = (more: string) => {
      text += more;
    };
    const columns = [
      { heading: 'name', cell: (row: [string, number]) => row[0] },
      { heading: 'n', cell: (row: [string, number]) => row[1], isRight: true },
    ];
    const rows: [string, number][] = [
      ['a', 5],
      ['b\u001b[1m', 12],
    ];
    printTable({ out, err: out, env: {}, ...io }, rows, columns, 'none');
    printFacts({ out, err: out, env: {}, ...io }, [
      ['id', 'x'],
      ['gone', null],
    ]);
    return text;
  };
  const plain = 'name         n\na            5\nb\\u{1b}[1m  12\nid  x\n';
  const isTerminal = { out: true, err: true };
  expect(printed({})).toBe(plain);
  expect(printed({ isTerminal, env: { NO_COLOR: '1' } })).toBe(plain);
  expect(printed({ isTerminal, env: { TERM: 'dumb' } })).toBe(plain);
  expect(printed({ isTerminal })).toContain('\u001b[1mname\u001b[22m');
});

test('progress shows nothing for a second, and removes its line', () => {
  let [now, text] = [0, ''];
  const err = (more: string) => {
    text += more;
  };
  const io: Io = { out: err, err, env: {}, isTerminal: { out: true, err: true } };
  const progress = startProgress(io, () => now);
  progress.say('1 of 9');
  expect(text).toBe('');
  now = 1_500;
  progress.say('5 of 9');
  progress.end();
  expect(text).toBe('\r\u001b[K5 of 9\r\u001b[K');
});

test('progress estimates the time that is left, and prints few lines where there is no terminal', () => {
  let now = 0;
  const lines: string[] = [];
  const err = (line: string) => void lines.push(line);
  const progress = startProgress({ out: err, err, env: {} }, () => now);
  for (now = 0; now <= 600_000; now += 1_000) progress.reach(now / 10, 12_000, 'entries read');
  progress.end();
  expect(lines).toEqual([
    '6,000 of 12,000 entries read, about 60 s left\n',
    '12,000 of 12,000 entries read\n',
    '24,000 of 24,000 entries read\n',
    '48,000 of 48,000 entries read\n',
  ]);
});
