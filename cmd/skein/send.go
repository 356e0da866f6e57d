package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
)

func sendCommand(e *env) *cobra.Command {
	var req app.SendRequest
	asJSON := false
	cmd := &cobra.Command{
		Use: "send --to ADDRESS --message TEXT", Short: "Put one message into the outbox", Args: cobra.NoArgs,
		Long: `Put one message into the outbox of the running gateway and print its number.
"skein outbox show NUMBER" tells what became of it.

An address is channel:account:conversation or channel:account:conversation/thread,
for example console:default:main. "--message -" reads the text from the standard
input.`,
		RunE: does(func(ctx context.Context, _ []string) error {
			if _, err := core.ParseAddress(req.To); err != nil {
				return usagef("--to: %v", err)
			}
			if req.Message == "-" {
				text, err := io.ReadAll(e.stdin)
				if err != nil {
					return err
				}
				req.Message = string(text)
			}
			return e.send(ctx, req, asJSON)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&req.To, "to", "", "address that gets the message")
	f.StringVar(&req.Message, "message", "", "text of the message, in Markdown; - reads the standard input")
	f.StringVar(&req.Key, "key", "", "name of this message: the same key again is the same message")
	f.BoolVar(&asJSON, "json", false, "print JSON; docs/cli.md lists the fields")
	for _, name := range []string{"to", "message"} {
		mustMark(cmd.MarkFlagRequired(name))
	}
	return cmd
}

// mustMark holds a flag that was misspelt in this program.
func mustMark(err error) {
	if err != nil {
		panic(err)
	}
}

func (e *env) send(ctx context.Context, req app.SendRequest, asJSON bool) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	c, err := e.connect(cfg, true)
	if err != nil {
		return err
	}
	defer c.close() //nolint:errcheck // the answer is there
	var sent app.SentView
	if err := c.post(ctx, "/send", req, &sent); err != nil {
		return err
	}
	if asJSON {
		return e.printer().json(sent)
	}
	fmt.Fprintln(e.stdout, sent.ID)
	return nil
}
