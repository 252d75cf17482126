/**
 * Identities of tests. Apart from the world, so that a program of its own process can have them too.
 *
 * @module
 */

/** An identity that may name any subject below itself, and whose failures are shown in full. */
export function person(key: string, principal: string, scopes: string[], more: object = {}) {
  const subjects = ['agent:*', 'human:*', 'service:*'];
  return { key, principal, scopes, subjects, caller_class: 'internal', ...more };
}
