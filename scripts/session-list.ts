/**
 * The sessions of the documentation: what is typed, in which order, and on which page it is shown.
 *
 * A new session is a row here and a pair of marks on its page: `<!-- session: name -->` and `<!-- end -->`.
 *
 * @module
 */

export interface Step {
  /** As a person types it in bash. `{name}` is what an earlier step kept. */
  readonly type: string;
  /** The folder in which it is typed, below that of the session. */
  readonly in?: string;
  /** The exit status; 0 where it is left out. */
  readonly status?: number;
  /** It goes on running, and its output is shown up to here. */
  readonly until?: RegExp;
  /** Keeps the first group of each pattern for later steps. */
  readonly keep?: Readonly<Record<string, RegExp>>;
  /** Stops what goes on running, as Ctrl-C in its terminal does. */
  readonly stops?: boolean;
  /** Runs, and is not shown. */
  readonly hidden?: boolean;
  /** Shows only these lines. */
  readonly only?: RegExp;
  /** Shows so many lines at most. */
  readonly lines?: number;
}

export interface Session {
  readonly name: string;
  readonly page: string;
  readonly steps: readonly Step[];
}

const SERVING = /Serving at .*\n/;

/** Instead of `npm install`, which test/pack.process.test.ts tries: the packages of this repository. */
const LINK: Step = {
  type: 'mkdir -p node_modules/@types && cd node_modules && ln -s "$REPOSITORY" writ && ln -s "$REPOSITORY"/node_modules/tsx "$REPOSITORY"/node_modules/typescript . && ln -s "$REPOSITORY"/node_modules/@types/node @types',
  in: 'office',
  hidden: true,
};

/** An office that runs. */
const OFFICE: readonly Step[] = [
  { type: 'writ init office', hidden: true },
  LINK,
  { type: 'npm start', in: 'office', until: SERVING, hidden: true },
];

const STOP: Step = { type: ':', stops: true, hidden: true };

const ASK = 'writ invoke --token-file clerk.token';

/** Gives an agent a token. */
const CLERK: Step = {
  type: 'writ token issue --token-file owner.key --subject agent:clerk --scope supplies.read --scope supplies.order --budget "300 EUR" --out clerk.token',
  in: 'office',
};

export const SESSIONS: readonly Session[] = [
  {
    name: 'start',
    page: 'docs/starting.md',
    steps: [
      { type: 'writ init office' },
      LINK,
      { type: 'npm test', in: 'office', only: /^\S+ (tests|pass|fail) \d+$/ },
      { type: 'npm start', in: 'office', until: SERVING },
    ],
  },
  {
    name: 'approval',
    page: 'docs/starting.md',
    steps: [
      ...OFFICE,
      CLERK,
      { type: `${ASK} look_up_item --param item=chair`, in: 'office' },
      {
        type: `${ASK} order_item --param item=chair --param count=1`,
        in: 'office',
        status: 3,
        keep: { request: /approve request "(\w+)"/ },
      },
      { type: `${ASK} order_item --param item=chair --param count=2`, in: 'office', status: 1 },
      { type: 'writ approvals list --token-file owner.key', in: 'office' },
      {
        type: 'writ approvals show {request} --token-file owner.key',
        in: 'office',
        keep: { digest: /Parameters +([0-9a-f]{64})/ },
      },
      {
        type: 'writ approvals approve {request} --token-file owner.key --yes --digest sha256:{digest}',
        in: 'office',
        only: /^(Approved {2}apr_|Grant |Uses |Until )/,
      },
      { type: `${ASK} order_item --param item=chair --param count=1`, in: 'office' },
    ],
  },
  {
    name: 'log',
    page: 'docs/starting.md',
    steps: [
      ...OFFICE,
      { ...CLERK, hidden: true },
      { type: `${ASK} look_up_item --param item=lamp`, in: 'office', hidden: true },
      { type: `${ASK} order_item --param item=lamp --param count=1`, in: 'office', hidden: true },
      {
        type: `${ASK} order_item --param item=chair --param count=2`,
        in: 'office',
        hidden: true,
        status: 1,
      },
      { type: 'writ audit query --token-file owner.key', in: 'office' },
      { type: 'writ checkpoint seal --token-file owner.key', in: 'office' },
      { type: 'curl -s $WRIT_CLIENT_SERVICE/.well-known/jwks.json > keys.json', in: 'office' },
      { type: 'writ audit export --out office.log --token-file owner.key', in: 'office' },
      { type: 'writ verify log office.log --jwks keys.json --service-id office', in: 'office' },
    ],
  },
  {
    name: 'backup',
    page: 'docs/starting.md',
    steps: [
      ...OFFICE,
      { ...CLERK, hidden: true },
      { type: `${ASK} order_item --param item=lamp --param count=1`, in: 'office', hidden: true },
      { type: 'writ backup --out ../office.backup', in: 'office' },
      STOP,
      { type: 'mv .writ/writ.db lost.db', in: 'office' },
      { type: 'writ restore ../office.backup', in: 'office' },
      { type: 'writ fsck', in: 'office' },
      { type: 'writ doctor', in: 'office' },
    ],
  },
];
