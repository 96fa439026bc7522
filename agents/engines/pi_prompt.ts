// Removes the machine's paths from pi's additions to the persona: paths become relative to the workspace of pi's tools.
//
// pi loads it with --extension.
import { relative } from "node:path";

export default function (pi: any): void {
  pi.on("before_agent_start", (event: any) => {
    const prompt = event.systemPromptOptions;
    for (const skill of prompt.skills) skill.filePath = relative(prompt.cwd, skill.filePath);
    prompt.cwd = ".";
  });
}
