'use strict';

const globals = Object.fromEntries(
  ['Buffer', '__dirname', 'console', 'process', 'structuredClone'].map((name) => [name, 'readonly']),
);

module.exports = [
  { ignores: ['types/'] },
  {
    languageOptions: { sourceType: 'commonjs', ecmaVersion: 2022, globals },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      ...require('@eslint/js').configs.recommended.rules,
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-shadow': 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      strict: ['error', 'global'],
    },
  },
];
