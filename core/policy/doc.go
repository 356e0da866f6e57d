// Package policy decides who is heard and which tools an agent has. It is
// pure: a decision depends on its arguments alone, reads no clock, no store
// and no configuration file, and is safe to make from many goroutines.
//
// # Access
//
// Decide is the one decision for every entrance: messages, edits, commands,
// button presses and reactions. It looks at one thing after the other, and the
// first that objects decides:
//
//	own message ─▶ sender and place known ─▶ command of another bot
//	     │                  │                        │
//	   ignore              deny                    ignore
//
//	─▶ dmPolicy | groupPolicy, listed, enabled ─▶ allow lists ─▶ mention gate ─▶ allow
//	              │                                  │               │
//	             deny                           deny | pair        ignore
//
// A denial is absolute: no mention, command, binding or button changes it. An
// id that is missing, and a word that is unknown, fail closed. Only stable ids
// of the platform count, byte for byte; display names never do.
//
// Every decision carries its Reason and the configuration key behind it, for
// the log. Talk limits how often another bot is heard in a conversation, so that
// two bots do not answer each other for ever.
//
// # Tools
//
// ToolPolicy.Apply takes the tools that exist through the stages of the
// policy. Each stage only narrows what the one before left, and within a stage
// deny beats allow; no configuration gives back what an earlier stage took.
// The answer names the stage and the rule that removed each tool.
//
// # Commands
//
// CommandAllowed and IsOwner say who may use chat commands.
package policy
