// Computes Allan deviation and spectrum in a thread of its own, so that drawing does not wait.

import { allan, spectrum } from './analysis.js';

onmessage = (message) => {
  const { values, rateHz } = message.data;
  postMessage({ allan: allan(values, rateHz), spectrum: spectrum(values, rateHz), count: values.length });
};
