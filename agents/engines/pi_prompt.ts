// What pi adds to the persona names no place of the machine: paths are told from the workspace, where pi's tools work.
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
