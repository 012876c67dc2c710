'use strict';

const globals = { Buffer: 'readonly', __dirname: 'readonly', console: 'readonly', process: 'readonly' };

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
