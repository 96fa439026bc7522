// Removes the machine's paths from pi's additions to the persona: paths become relative to the workspace of pi's tools.
//
// pi loads it with --extension. It is CommonJS because pi translates everything else at each start, which takes longer
// than all the rest of the start.
const { relative } = require("node:path");

module.exports = function (pi) {
  pi.on("before_agent_start", (event) => {
    const prompt = event.systemPromptOptions;
    for (const skill of prompt.skills) skill.filePath = relative(prompt.cwd, skill.filePath);
    prompt.cwd = ".";
  });
};
