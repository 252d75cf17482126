/**
 * Reads a source file as the compiler does, and tells what it imports and which globals it touches.
 *
 * Parsed, not searched: a word in a comment or a text is no import, and no way of writing an import
 * is missed. Knows the language, not our rules; those are in tidy.ts.
 *
 * @module
 */

import { type ESTree, parseSync, Visitor } from 'vite';

/** One import, in whichever form. */
export interface Import {
  readonly line: number;
  /** `undefined` when it is computed, so that nobody can tell by reading what is imported. */
  readonly target: string | undefined;
  /** Whether the whole import vanishes when compiled. */
  readonly isType: boolean;
}

/** One use of something global: `Date.now`, `new Date()`, `process.env`, `fetch`, `debugger`, … */
interface Use {
  readonly line: number;
  readonly name: string;
}

interface SourceFacts {
  readonly imports: readonly Import[];
  readonly uses: readonly Use[];
}

/** Facts of a file by its content: several rules ask for the same ones. */
const known = new Map<string, SourceFacts>();

export function factsOf(path: string, source: string): SourceFacts {
  const key = `${path}\0${source}`;
  const facts = known.get(key) ?? read(path, source);
  known.set(key, facts);
  return facts;
}

function read(path: string, source: string): SourceFacts {
  const { program, errors } = parseSync(path, source);
  const [error] = errors;
  if (error !== undefined) throw new Error(`Cannot read "${path}": ${error.message}`);

  const imports: Import[] = [];
  const uses: Use[] = [];
  const newlines = [...source.matchAll(/\n/g)].map(({ index }) => index);
  const lineOf = ({ start }: { start: number }) => {
    const before = newlines.findIndex((position) => position >= start);
    return (before === -1 ? newlines.length : before) + 1;
  };
  const addImport = (node: { start: number }, target: unknown, isType = false): void => {
    imports.push({ line: lineOf(node), target: textOf(target), isType });
  };
  const addUse = (node: { start: number }, name: string): void => {
    uses.push({ line: lineOf(node), name });
  };

  // How many conditions stand around the node at hand.
  let conditions = 0;
  const enter = (): void => {
    conditions += 1;
  };
  const leave = (): void => {
    conditions -= 1;
  };

  new Visitor({
    ...importVisitor(addImport, addUse),
    ...useVisitor(addUse),
    CallExpression(node) {
      visitRequire(node, addImport);
      visitCall(node, addUse);
      if (conditions === 0) visitSkip(node, addUse);
    },
    IfStatement: enter,
    'IfStatement:exit': leave,
    ConditionalExpression: enter,
    'ConditionalExpression:exit': leave,
  }).visit(program);
  return { imports, uses };
}

type AddImport = (node: { start: number }, target: unknown, isType?: boolean) => void;
type AddUse = (node: { start: number }, name: string) => void;
type Visits = ConstructorParameters<typeof Visitor>[0];

function importVisitor(add: AddImport, addUse: AddUse): Visits {
  return {
    ImportDeclaration(node) {
      add(node, node.source, node.importKind === 'type');
      for (const specifier of node.specifiers) {
        if (specifier.type !== 'ImportSpecifier') continue;
        const { imported } = specifier;
        if (imported.type === 'Identifier' && imported.name === 'createRequire') {
          addUse(specifier, 'createRequire');
        }
      }
    },
    ExportNamedDeclaration(node) {
      if (node.source !== null) add(node, node.source, node.exportKind === 'type');
    },
    ExportAllDeclaration: (node) => add(node, node.source, node.exportKind === 'type'),
    ImportExpression: (node) => add(node, node.source),
    TSImportType: (node) => add(node, node.source, true),
    TSExternalModuleReference: (node) => add(node, node.expression),
  };
}

/** `require(…)`, `require.resolve(…)` and the `createRequire(…)(…)` that stands for it in a module. */
function visitRequire(node: ESTree.CallExpression, add: AddImport): void {
  const { callee } = node;
  const name = dottedName(callee);
  const isMade =
    callee.type === 'CallExpression' && /createRequire$/.test(dottedName(callee.callee));
  if (name === 'require' || name === 'require.resolve' || isMade) add(node, node.arguments[0]);
}

function useVisitor(add: AddUse): Visits {
  // A parent is visited before its children, so it can say which of them are mere names.
  const names = new Set<unknown>();
  const nameKey = (node: { key: unknown; computed: boolean }): void => {
    if (!node.computed) names.add(node.key);
  };

  return {
    Identifier(node) {
      if (!names.has(node)) add(node, node.name);
    },
    Property(node) {
      if (!node.shorthand) nameKey(node);
    },
    MethodDefinition: nameKey,
    PropertyDefinition: nameKey,
    TSPropertySignature: nameKey,
    TSMethodSignature: nameKey,
    MemberExpression(node) {
      if (!node.computed) names.add(node.property);
      const name = dottedName(node);
      if (name !== '') add(node, name);
    },
    NewExpression(node) {
      const name = dottedName(node.callee);
      if (node.arguments.length === 0) add(node, `new ${name}()`);
    },
    VariableDeclarator(node) {
      // `const { env } = process` is `process.env` in other words.
      if (node.id.type !== 'ObjectPattern' || node.init?.type !== 'Identifier') return;
      for (const property of node.id.properties) {
        if (property.type !== 'Property' || property.key.type !== 'Identifier') continue;
        add(node, `${node.init.name}.${property.key.name}`);
      }
    },
    DebuggerStatement: (node) => add(node, 'debugger'),
  };
}

/** Calls as such: `Date()`, and those that leave other tests out. */
function visitCall(node: ESTree.CallExpression, add: AddUse): void {
  const name = dottedName(node.callee);
  if (name === 'Date') add(node, 'new Date()');

  if (/\.(only|todo)$/.test(name)) add(node, `${lastPart(name)}()`);
  if (/^(test|it|describe|suite)\b/.test(name)) visitTestOptions(node, add);
}

/** A test left out whatever holds: no condition around it, and none as its first argument. */
function visitSkip(node: ESTree.CallExpression, add: AddUse): void {
  const [first] = node.arguments;
  const isAlways = first === undefined || first.type === 'Literal';
  if (isAlways && /\.skip$/.test(dottedName(node.callee))) add(node, 'skip()');
}

/** `test(name, { only: true }, …)` and its like. */
function visitTestOptions(node: ESTree.CallExpression, add: AddUse): void {
  for (const argument of node.arguments) {
    if (argument.type !== 'ObjectExpression') continue;
    for (const property of argument.properties) {
      if (property.type !== 'Property' || property.key.type !== 'Identifier') continue;
      const isSet = property.value.type === 'Literal' && property.value.value === true;
      if (isSet && /^(only|skip|todo)$/.test(property.key.name))
        add(node, `${property.key.name}()`);
    }
  }
}

/** `a.b.c` and `a['b'].c` as "a.b.c"; empty when it is anything else. */
function dottedName(node: ESTree.Expression | ESTree.Super): string {
  if (node.type === 'Identifier') return node.name;
  if (node.type !== 'MemberExpression') return '';

  const before = dottedName(node.object);
  const last = node.computed ? textOf(node.property) : identifierOf(node.property);
  return before === '' || last === undefined ? '' : `${before}.${last}`;
}

function identifierOf(node: { type: string; name?: unknown }): string | undefined {
  return typeof node.name === 'string' ? node.name : undefined;
}

function textOf(node: unknown): string | undefined {
  const literal = node as { type?: string; value?: unknown } | undefined;
  return literal?.type === 'Literal' && typeof literal.value === 'string'
    ? literal.value
    : undefined;
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}
