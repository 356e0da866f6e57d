package console

import (
	"fmt"
	"net/http"
	"time"
)

// The codes of errors whose status alone does not tell what is wrong.
const (
	CodeUnknownConversation = "unknown_conversation"
	CodeUnknownThread       = "unknown_thread"
	CodeUnknownAgent        = "unknown_agent"
	CodeUnknownMessage      = "unknown_message"
	CodeUnknownReply        = "unknown_reply"
	CodeUnknownFile         = "unknown_file"
	CodeMoved               = "moved"
	CodeNotMember           = "not_member"
	CodeNotAuthor           = "not_author"
	CodeLocked              = "locked"
	CodeTooLarge            = "too_large"
	CodeInvalid             = "invalid"
	CodeSuperseded          = "superseded"
	CodeClosed              = "hub_closed"
)

// Error is a refusal by the platform. It is what a Hub returns and what its
// clients read from an answer that is not 200.
type Error struct {
	Status int    `json:"-"` // the HTTP status
	Code   string `json:"code"`
	Text   string `json:"text"`
	// RetryAfter is how long to wait before trying again, 0 if unsaid.
	RetryAfter time.Duration `json:"-"`
	// MovedTo is, with CodeMoved, the conversation's new id.
	MovedTo string `json:"movedTo,omitempty"`
}

// Error returns the status and the text.
func (e *Error) Error() string { return fmt.Sprintf("console: %d %s", e.Status, e.Text) }

func refuse(status int, code, format string, args ...any) *Error {
	return &Error{Status: status, Code: code, Text: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) *Error {
	return refuse(http.StatusBadRequest, CodeInvalid, format, args...)
}
