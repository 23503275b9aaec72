// Computes Allan deviation and spectrum beside the page, so that drawing does not wait for it.

import { allan, spectrum } from './analysis.js';

onmessage = (message) => {
  const { values, rateHz } = message.data;
  postMessage({ allan: allan(values, rateHz), spectrum: spectrum(values, rateHz), count: values.length });
};
