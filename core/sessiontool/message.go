package sessiontool

import (
	"context"
	"errors"
	"fmt"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/tool"
)

const messageSchema = `{
 "type":"object","additionalProperties":false,"required":["to","text"],
 "properties":{
  "to":{"type":"string","minLength":1,"maxLength":1000,"description":"Address of the place: channel:account:conversation, or channel:account:conversation/thread."},
  "text":{"type":"string","minLength":1,"maxLength":100000,"description":"What to post, in Markdown."},
  "replyTo":{"type":"string","minLength":1,"maxLength":200,"description":"Platform id of the message that it answers."}
 }}`

type messageArgs struct {
	To      string `json:"to"`
	Text    string `json:"text"`
	ReplyTo string `json:"replyTo"`
}

// messageTool is message. The post is a row of the outbox, written with the
// call's result under a once-key of its turn and step.
type messageTool struct {
	t    *Tools
	args *tool.Arguments
}

var _ tool.Durable = messageTool{}

func newMessage(t *Tools) messageTool { return messageTool{t, tool.MustArguments(messageSchema)} }

// Spec implements core.Tool.
func (m messageTool) Spec() core.ToolSpec {
	return core.ToolSpec{
		Name: "message",
		Description: "Post a message to a place that you may write to: this conversation with its threads, places bound to your sub-agents, " +
			"and those that the operator named. Your answer is posted here by itself: use this for other places only.",
		Schema: m.args.Schema(),
	}
}

// Invoke is never called: the effect of a post is rows of the store.
func (messageTool) Invoke(context.Context, core.ToolScope, core.ToolCall) (core.ToolResult, error) {
	return core.ToolResult{}, errors.New("message is durable")
}

// InvokeDurable implements tool.Durable.
func (m messageTool) InvokeDurable(ctx context.Context, scope core.ToolScope, call core.ToolCall, steps tool.Steps) error {
	var p messageArgs
	if err := m.args.Read(call.Args, &p); err != nil {
		return finish(ctx, steps, err)
	}
	to, err := core.ParseAddress(p.To)
	if err != nil {
		return finish(ctx, steps, core.Errorf("bad_address", "%v", err))
	}
	err = steps.Finish(ctx, func(tx *store.Tx) (tool.Result, error) {
		if err := m.mayPost(tx, scope, to); err != nil {
			return tool.Result{}, err
		}
		return m.post(tx, scope, to, p)
	})
	if err != nil && core.ErrorCode(err) != "" {
		return finish(ctx, steps, err)
	}
	return err
}

// mayPost is the rule of where an agent may write of its own accord. It may: to
// the conversation of its turn, its threads and its parent; to places bound to
// sessions of its tree; to what the operator named by id in the access policy
// of the account. That people may write to the bot somewhere is not enough.
func (m messageTool) mayPost(tx *store.Tx, scope core.ToolScope, to core.Address) error {
	if !m.t.Config.HasAccount(to.Channel, to.Account) {
		return core.Errorf("account_unknown", "the gateway has no account %s:%s", to.Channel, to.Account).
			WithRemedy("gateway status lists the accounts; an address is channel:account:conversation")
	}
	if here := scope.Reply; !here.IsZero() && sameConversation(here, to) {
		return nil
	}
	bound, err := m.boundBelow(tx, scope.Session, to)
	if err != nil || bound {
		return err
	}
	d, err := m.t.Config.Named(tx, to)
	if err != nil || d.Allowed() {
		return err
	}
	here := "this turn has no conversation"
	if !scope.Reply.IsZero() {
		here = "the conversation of this turn is " + scope.Reply.String()
	}
	return core.Errorf("message_not_allowed", "not permitted from here: %s is no place that this session may write to (%s; %s)", to, here, d).
		WithRemedy("an operator can name it: %s", remedyOf(to))
}

func remedyOf(to core.Address) string {
	return fmt.Sprintf("channels.%s.groups for a group, channels.%s.allowFrom for a person's direct chat", to.Channel, to.Channel)
}

// sameConversation reports whether two places are in one conversation: the same
// one, one of its threads, or the parent.
func sameConversation(a, b core.Address) bool {
	a, b = a.ParentConversation(), b.ParentConversation()
	return a.Same(b)
}

// boundBelow reports whether a place is bound to the session or one below it,
// whatever it may see.
func (m messageTool) boundBelow(tx *store.Tx, session int64, to core.Address) (bool, error) {
	b, ok, err := tx.BindingAt(to.Place())
	if err != nil || !ok || b.Status == core.BindingPending {
		return false, err
	}
	v := view{tx: tx, scope: VisibilityTree, self: store.Session{ID: session}}
	s, found, err := lookUp(tx.SessionByID(b.Session))
	if err != nil || !found {
		return false, err
	}
	return v.sees(s)
}

func (m messageTool) post(tx *store.Tx, scope core.ToolScope, to core.Address, p messageArgs) (tool.Result, error) {
	turn, err := tx.TurnByID(scope.Turn)
	if err != nil {
		return tool.Result{}, err
	}
	id, _, err := m.t.Poster.Post(tx, store.Outbox{
		OnceKey: fmt.Sprintf("turn/%d/%d/message", scope.Turn, scope.Seq), Kind: store.OutProgress, Address: to, Anchor: p.ReplyTo, Text: p.Text,
		Session: scope.Session, Owner: turn.Owner, At: m.t.World.Now(),
	})
	if err != nil {
		return tool.Result{}, err
	}
	if id == 0 {
		return tool.Result{}, core.Errorf("message_empty", "nothing is left of the message to post").WithRemedy("write some text")
	}
	text := encode(struct {
		Status string `json:"status"`
		Outbox int64  `json:"outboxId"`
		To     string `json:"to"`
	}{"queued", id, to.String()})
	return tool.Result{ToolResult: core.ToolResult{Text: text}}, nil
}
