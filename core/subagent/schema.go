package subagent

import "encoding/json"

// spawnProperties are the arguments of sessions_spawn that every installation
// has, as JSON Schema.
const spawnProperties = `  "task":{"type":"string","minLength":1,"description":"The work, self-contained unless context is fork. It becomes the child's first message."},
  "taskName":{"type":"string","pattern":"^[a-z][a-z0-9_-]{0,63}$","description":"Short handle, unique among your live children; not last or all."},
  "label":{"type":"string","description":"Short title of the work, shown to people."},
  "agentId":{"type":"string","description":"Another configured agent, if allowed; default: yourself."},
  "runtime":{"type":"string","enum":["subagent"]},
  "model":{"type":"string","description":"<provider>/<model id>; an unknown one is skipped with a warning."},
  "thinking":{"type":"string","enum":["off","minimal","low","medium","high"]},
  "runTimeoutSeconds":{"type":"integer","minimum":0,"maximum":315360000,"description":"0: no limit of its own."},
  "thread":{"type":"boolean","description":"Give the child a thread where people can talk to it."},
  "mode":{"type":"string","enum":["run","session"],"description":"run ends after its answer; session stays in its thread. Default run; with thread, session."},
  "context":{"type":"string","enum":["isolated","fork"],"description":"fork starts from this conversation; use it sparingly."},
  "lightContext":{"type":"boolean","description":"true: a smaller prompt, without the files of the workspace; for small one-off work."},
  "cleanup":{"type":"string","enum":["keep","delete"]},
  "expectsCompletionMessage":{"type":"boolean","description":"false: fire and forget."},
  "sandbox":{"type":"string","enum":["inherit","require"],"description":"inherit: as you. require is refused where tools have no sandbox."},
  "cwd":{"type":"string","description":"The folder in which its tools work, inside the workspace of its agent; relative to yours or absolute."},
  "idempotencyKey":{"type":"string","minLength":1,"maxLength":128,"description":"A spawn under a key that you used before returns its first result instead of a second child."},
  "visible":{"type":"boolean","description":"A session that people see in their lists, write to with /focus and keep; without thread, mode, thinking, lightContext and files."},
  "group":{"type":"string","maxLength":64,"description":"With visible: the heading under which it is listed."},
  "worktree":{"type":"boolean","description":"With visible: it works in a git worktree of its own, on branch skein/<name>."},
  "worktreeName":{"type":"string","pattern":"^[a-z0-9][a-z0-9-]{0,63}$","description":"Default: made of the label."},
  "worktreeBaseRef":{"type":"string","maxLength":250,"description":"Where the branch begins; default: the remote's default branch."},
  "budget":{"type":"object","additionalProperties":false,"minProperties":1,"description":"What the child and its own children may use; only less than is left to you.","properties":{
   "tokens":{"type":"integer","minimum":1,"description":"Read and written."},"usd":{"type":"number","exclusiveMinimum":0,"description":"By the configured prices."}}}`

// fileProperties are those where an operator lets files be handed over.
const fileProperties = `,
  "attachments":{"type":"array","description":"Files for the child; they are put into its workspace.","items":{
   "type":"object","additionalProperties":false,"required":["name","content"],"properties":{
    "name":{"type":"string","description":"Plain name, without folders, of at most 255 bytes."},
    "content":{"type":"string","description":"The file."},
    "encoding":{"type":"string","enum":["utf8","base64"],"description":"Of content; default utf8."},
    "mimeType":{"type":"string","description":"Type of the content."}}}},
  "attachAs":{"type":"object","additionalProperties":false,"required":["mountPath"],"description":"How the task calls the folder of the files; nothing is mounted.","properties":{
   "mountPath":{"type":"string","pattern":"^[A-Za-z0-9._/:-]+$","description":"A path."}}}`

// spawnSchema is the JSON Schema of sessions_spawn.
func spawnSchema(files bool) json.RawMessage {
	properties := spawnProperties
	if files {
		properties += fileProperties
	}
	return json.RawMessage(`{"type":"object","additionalProperties":false,"required":["task"],"properties":{` + properties + `}}`)
}
