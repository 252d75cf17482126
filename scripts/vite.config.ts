/**
 * Builds the pages of the console into `dist/src/console-page`: `verify.html` in the mode `verifier`, and the
 * console in any other. The verifier comes first, because it empties the folder.
 *
 * The verifier is one file that asks nothing of any host: its script and its styles are inside it, and its policy
 * admits exactly these. An auditor saves it, compares its digest and opens it without a service.
 *
 * @module
 */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';

// biome-ignore lint/style/noDefaultExport: vite reads the default export.
export default defineConfig(({ mode }) => {
  const isVerifier = mode === 'verifier';
  return {
    root: pathOf('../src/console/'),
    base: './',
    resolve: { conditions: ['writ-source', 'browser', 'module', 'import', 'default'] },
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    plugins: [
      onlyParsing(),
      onlyUsed(),
      withIcons(),
      ...(isVerifier ? [inOneFile('verify.html')] : []),
    ],
    build: {
      outDir: pathOf('../dist/src/console-page/'),
      emptyOutDir: isVerifier,
      target: 'es2022',
      modulePreload: false,
      assetsInlineLimit: 0,
      cssCodeSplit: false,
      rolldownOptions: {
        checks: { bundlerTimings: false },
        input: pathOf(`../src/console/${isVerifier ? 'verify' : 'index'}.html`),
        output: { codeSplitting: isVerifier ? false : { groups: GROUPS } },
      },
    },
  };
});

/** What views share, and views that share much, are one file: many small ones are larger together. */
const GROUPS = [
  {
    name: 'shared',
    test: /\/node_modules\/@?preact\/|\/src\/console\/(?:parts\/|[\w-]+\.tsx?$)|\/src\/domain\/wire\//,
  },
  { name: 'deciding', test: /\/src\/console\/views\/(?:approvals|decision|passkeys)/ },
  { name: 'governing', test: /\/src\/console\/views\/(?:agents|operations|tools)/ },
  { name: 'looking', test: /\/src\/console\/views\/(?:activity|invocation|capabilities)/ },
];

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}

/** The files of zod that make JSON Schemas. */
const JSON_SCHEMA = /\/zod\/v4\/core\/(?:to-json-schema|json-schema-processors)\.js$/;

/** The words of zod for what does not fit. */
const WORDS = /\/zod\/v4\/locales\/en\.js$/;

/** The file of zod that makes schemas. */
const SCHEMAS = /\/zod\/v4\/classic\/schemas\.js$/;

/** The methods of a text that have a format, such as `email()`. The protocol writes each format as a schema of its own. */
const FORMATS =
  /^ {4}\w+\(params\) \{\n {8}return this\.check\(core\._\w+\(Zod\w+, params\)\);\n {4}\},\n/gm;

/** Methods of a schema that the protocol does not use. */
const METHODS = `and or catch catchall passthrough loose strict strip pick keyof register superRefine isOptional isNullable
validate validateAsync parseAsync safeParseAsync prefault nonoptional exactOptional readonly exactPartial required partial merge
safeExtend overwrite includes startsWith endsWith lowercase uppercase trim normalize toLowerCase toUpperCase slugify length
multipleOf step encode decode encodeAsync decodeAsync safeEncode safeDecode safeEncodeAsync safeDecodeAsync`;
const UNUSED = new RegExp(
  `^ {4}(?:async )?(?:${METHODS.split(/\s+/).join('|')})(?:: (?:async )?function \\w+)?\\(.*\\) \\{\\n(?: {8}.*\\n)*? {4}\\},\\n`,
  'gm',
);

/** The pages only ask zod whether something fits, and say in words of their own what does not. */
function onlyParsing(): Plugin {
  return {
    name: 'writ-only-parsing',
    enforce: 'pre',
    transform(code, id) {
      if (WORDS.test(id)) return 'export default () => ({ localeError: () => undefined });';
      if (SCHEMAS.test(id)) return withoutUnused(code);
      if (!JSON_SCHEMA.test(id)) return undefined;
      const names = [...code.matchAll(/^export (?:const|function|class) (\w+)/gm)];
      return names.map(([, name]) => `export const ${name} = () => undefined;`).join('\n');
    },
  };
}

/** Compiled objects need eval, which the policy of a page refuses, and what is read as JSON has no cycles to remember. */
function withoutUnused(code: string): string {
  return [FORMATS, UNUSED, 'core.config({ memoizer: core.memoizer() })']
    .reduce<string>((text, part) => text.replace(part, ''), code)
    .replace('$ZodObjectJIT', '$ZodObject');
}

/** A schema at the top of a module of the protocol, from its name to its end. */
const SCHEMA =
  /^((?:export )?const \w+(?:: [^=\n]+)? = )((?:z|[A-Z]\w*)\b[\s\S]*?);$(?=\n(?:\n|\S|$))/gm;

/** A schema that no page uses is left out: the call that makes it has no other effect. */
function onlyUsed(): Plugin {
  return {
    name: 'writ-only-used',
    enforce: 'pre',
    transform(code, id) {
      if (!/\/src\/protocol\//.test(id)) return undefined;
      return code.replace(SCHEMA, '$1/* @__PURE__ */ (() => $2)();');
    },
  };
}

/** Puts the drawings of the icons into a page, once for all places that show them. */
function withIcons(): Plugin {
  const icons = readFileSync(pathOf('../src/console/icons.svg'), 'utf8');
  return {
    name: 'writ-with-icons',
    transformIndexHtml: (html) => html.replace('<body>', () => `<body>\n    ${icons.trim()}`),
  };
}

/** Moves the script and the styles of a page into its HTML. */
function inOneFile(page: string): Plugin {
  return {
    name: 'writ-in-one-file',
    enforce: 'post',
    generateBundle(_, bundle) {
      const texts = new Map<string, string>();
      for (const [name, output] of Object.entries(bundle)) {
        texts.set(name, output.type === 'chunk' ? output.code : textOf(output.source));
        if (name !== page) delete bundle[name];
      }
      const html = bundle[page];
      if (html?.type !== 'asset') throw new Error(`Cannot build ${page}: the build has no HTML`);
      html.source = inlined(texts.get(page) as string, texts);
    },
  };
}

function textOf(source: string | Uint8Array): string {
  return typeof source === 'string' ? source : Buffer.from(source).toString();
}

const SCRIPT = /<script type="module"[^>]* src="\.\/([^"]+)"><\/script>/g;
const STYLES = /<link rel="stylesheet"[^>]* href="\.\/([^"]+)">/g;

/** What would end the element that the text stands in, or change how a browser reads it. */
const UNSAFE = /<\/(?:script|style)|<!--/i;

function inlined(html: string, texts: ReadonlyMap<string, string>): string {
  const hashes: Record<'script' | 'style', string[]> = { script: [], style: [] };
  const inside = (kind: 'script' | 'style', open: string) => (_: string, name: string) => {
    const text = texts.get(name)?.trim() ?? '';
    if (text === '' || UNSAFE.test(text)) throw new Error(`Cannot put ${name} into one file`);
    hashes[kind].push(`'sha256-${createHash('sha256').update(text).digest('base64')}'`);
    return `${open}${text}</${kind}>`;
  };
  const whole = html
    .replace(SCRIPT, inside('script', '<script type="module">'))
    .replace(STYLES, inside('style', '<style>'));
  // The HTML and what it names, once each: a text that is left over would be missing in the page.
  if (hashes.script.length + hashes.style.length !== texts.size - 1) {
    throw new Error('Cannot make one file: the build has a file that the page does not name');
  }
  const policy = [
    "default-src 'none'",
    "connect-src 'none'",
    `script-src ${hashes.script.join(' ')}`,
    `style-src ${hashes.style.join(' ')}`,
    "form-action 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
  // Before the script: a policy counts for what follows it.
  return whole.replace(
    /<meta charset="utf-8">/i,
    (charset) => `${charset}<meta http-equiv="Content-Security-Policy" content="${policy}">`,
  );
}
