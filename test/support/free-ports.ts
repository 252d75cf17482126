/**
 * Ports that are free now, for a program that cannot choose one itself.
 *
 * @module
 */

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** Different ports. Another program may take one before it is used. */
export async function freePorts(count: number): Promise<number[]> {
  const probes = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(probes.map((probe) => once(probe, 'listening')));
  const ports = probes.map((probe) => (probe.address() as AddressInfo).port);
  await Promise.all(probes.map((probe) => once(probe.close(), 'close')));
  return ports;
}

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  return port as number;
}
