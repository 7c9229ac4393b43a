// The rules cart.js is held to. ESLint takes the configuration nearest to a file.
export default [
  {
    rules: {
      eqeqeq: "error",
      "no-undef": "error",
      "no-unused-vars": "warn",
    },
  },
];
