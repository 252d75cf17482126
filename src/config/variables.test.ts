import assert from 'node:assert/strict';
import { test } from 'vitest';
import { ConfigError, ignoredVariables, loadConfig } from './config.ts';

const SECRET = 'hunter2-canary';

/** Without the first line. Fails when a value is among them. */
async function faultsOf(environment: Record<string, string>): Promise<string[]> {
  const error = await loadConfig('/srv', {}, environment).catch((reason: unknown) => reason);
  assert.ok(error instanceof ConfigError);
  assert.doesNotMatch(error.message, new RegExp(SECRET));
  return error.message
    .split('\n')
    .slice(1)
    .map((line) => line.trim());
}

test('loadConfig() lists variables that resemble a setting beside the faults of settings', async () => {
  const variables = ['WRIT_STOER', 'WRIT_RATE_LIMTS', 'WRIT_CONFG', 'WRIT_PORT', 'WRIT_IDENTITIES'];
  const unknown = Object.fromEntries(variables.map((name) => [name, SECRET]));
  const faults = await faultsOf({ ...unknown, PORT: 'x' });

  assert.deepEqual(faults, [
    'Cannot use variable "WRIT_STOER": there is no such setting; did you mean "WRIT_STORE"?',
    'Cannot use variable "WRIT_RATE_LIMTS": there is no such setting; did you mean "WRIT_RATE_LIMITS"?',
    'Cannot use variable "WRIT_CONFG": there is no such setting; did you mean "WRIT_CONFIG"?',
    'Cannot use variable "WRIT_PORT": the variable of the setting "port" is PORT',
    'Cannot use variable "WRIT_IDENTITIES": the setting "identities" is for the configuration file',
    'Cannot use setting "port": expected a number',
  ]);
});

/** As the kubelet makes them for a Service with one named port. */
function kubernetesVariables(service: string, address: string, port: number) {
  const at = `${service}_PORT_${port}_TCP`;
  return {
    [`${service}_SERVICE_HOST`]: address,
    [`${service}_SERVICE_PORT`]: String(port),
    [`${service}_SERVICE_PORT_HTTP`]: String(port),
    [`${service}_PORT`]: `tcp://${address}:${port}`,
    [at]: `tcp://${address}:${port}`,
    [`${at}_PROTO`]: 'tcp',
    [`${at}_PORT`]: String(port),
    [`${at}_ADDR`]: address,
  };
}

test('loadConfig() validates settings beside the variables of a Service called writ in Kubernetes', async () => {
  const injected = kubernetesVariables('WRIT', '10.0.0.7', 8420);
  const named = kubernetesVariables('WRIT_PUBLIC', '10.0.0.8', 443);
  const environment = { ...injected, ...named, WRIT_X: 'x' };

  const config = await loadConfig('/srv', {}, { ...environment, PORT: '3' });
  const faults = await faultsOf({ ...environment, PORT: 'x' });

  assert.equal(config.port, 3);
  assert.deepEqual(faults, ['Cannot use setting "port": expected a number']);
  assert.deepEqual(ignoredVariables({ ...environment, HOME: '/x' }), Object.keys(environment));
});
