package subagent

import (
	"slices"
	"strings"

	"github.com/skein-bot/skein/core"
)

// deliveryParams belong to channel delivery, which is the requester's; written
// as plain writes names.
var deliveryParams = []string{
	"target", "channel", "to", "threadid", "replyto", "replytoid", "transport", "account", "accountid", "deliver", "delivery", "conversation", "recipient",
}

// calledHere names parameters that elsewhere are called otherwise; written as
// plain writes names.
var calledHere = map[string]string{
	"timeoutseconds": "runTimeoutSeconds", "timeout": "runTimeoutSeconds", "timeoutms": "runTimeoutSeconds", "runtimeout": "runTimeoutSeconds",
	"prompt": "task", "message": "task", "instructions": "task", "description": "label", "title": "label", "name": "taskName",
	"agent": "agentId", "targetagent": "agentId", "targetagentid": "agentId", "thinkinglevel": "thinking", "reasoning": "thinking",
	"category": "group", "workdir": "cwd", "workingdirectory": "cwd", "dir": "cwd", "directory": "cwd", "files": "attachments",
	"mountpath": "attachAs", "maxtokens": "budget", "maxusd": "budget", "tokens": "budget", "usd": "budget", "fork": "context",
	"baseref": "worktreeBaseRef", "key": "idempotencyKey", "dedupekey": "idempotencyKey", "expectscompletion": "expectsCompletionMessage",
}

// notHere says of parameters that exist elsewhere what takes their place.
var notHere = map[string]string{
	"completiontarget": "the result comes to you in any case; with expectsCompletionMessage: false it does not",
	"collect":          "wait for several children with sessions_yield",
	"outputschema":     "say in the task which form the answer is to have",
	"groupid":          "children of one turn are one batch; wait for them with sessions_yield",
	"fastmode":         "choose a model and a level of thinking",
	"resumesessionid":  "send to a live child with sessions_send or the subagents tool",
	"streamto":         "the result comes to you as an event when the child ends",
	"projectid":        "name the folder with cwd",
	"projectgiturl":    "name the folder with cwd",
	"user":             "a child works for whoever you work for",
	"tools":            "an operator narrows what sub-agents may do with tools.subagents",
}

// plain is a name without case and separators.
func plain(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
}

// checkNames refuses parameters that sessions_spawn does not take: those of
// delivery first, then the others, each with what takes its place.
func checkNames(names []string) error {
	for _, key := range names {
		if slices.Contains(deliveryParams, plain(key)) {
			return core.Errorf("delivery_param", "a sub-agent does not deliver to channels: %q is not taken", key).
				WithRemedy("it reports to you; answer people yourself")
		}
	}
	for _, key := range names {
		if slices.Contains(knownParams, key) {
			continue
		}
		err := core.Errorf("unknown_param", "unknown parameter %q", key)
		for _, known := range knownParams {
			if plain(known) == plain(key) {
				return err.WithRemedy("it is written %s", known)
			}
		}
		if name, ok := calledHere[plain(key)]; ok && slices.Contains(knownParams, name) {
			return err.WithRemedy("it is called %s here", name)
		}
		if instead, ok := notHere[plain(key)]; ok {
			return err.WithRemedy("%s", instead)
		}
		return err.WithRemedy("known: %s", strings.Join(knownParams, ", "))
	}
	return nil
}
