package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"
)

// listOptions are the flags of every list.
type listOptions struct {
	json  bool
	limit int
}

func (o *listOptions) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON; docs/cli.md lists the fields")
	cmd.Flags().IntVar(&o.limit, "limit", 200, "rows at most, 1 to 1000")
}

func (o *listOptions) query() url.Values { return url.Values{"limit": {strconv.Itoa(o.limit)}} }

// family makes a command with sub-commands that lists where none is given:
// `skein tasks` is `skein tasks list`.
func family(use, short string, list func() *cobra.Command, others ...*cobra.Command) *cobra.Command {
	parent := list()
	parent.Use, parent.Short, parent.Args = use, short, cobra.NoArgs
	parent.AddCommand(list())
	parent.AddCommand(others...)
	return parent
}

// query makes a command that asks and prints: ask builds the path and the
// query of a GET, show prints the answer for people.
type query[T any] struct {
	use, short, long string
	args             cobra.PositionalArgs
	flags            func(*cobra.Command)
	ask              func(args []string) (path string, values url.Values)
	show             func(p printer, answer T)
	asJSON           *bool
}

func (q query[T]) command(e *env) *cobra.Command {
	own := false
	if q.asJSON == nil {
		q.asJSON = &own
	}
	cmd := &cobra.Command{
		Use: q.use, Short: q.short, Long: q.long, Args: q.args,
		RunE: does(func(ctx context.Context, args []string) error {
			path, values := q.ask(args)
			var answer T
			if err := e.ask(ctx, path, values, &answer); err != nil {
				return err
			}
			if *q.asJSON {
				return e.printer().json(answer)
			}
			q.show(e.printer(), answer)
			return nil
		}),
	}
	if q.flags != nil {
		q.flags(cmd)
	}
	if q.asJSON == &own {
		cmd.Flags().BoolVar(&own, "json", false, "print JSON; docs/cli.md lists the fields")
	}
	return cmd
}

// change makes a command that changes one thing by its name and says what it
// did.
func change[T any](e *env, use, short string, path func(name string) string, say func(T) string) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1),
		RunE: does(func(ctx context.Context, args []string) error {
			cfg, err := e.load()
			if err != nil {
				return err
			}
			c, err := e.connect(cfg, true)
			if err != nil {
				return err
			}
			defer c.close() //nolint:errcheck // the answer is there
			var answer T
			if err := c.post(ctx, path(args[0]), nil, &answer); err != nil {
				return err
			}
			if asJSON {
				return e.printer().json(answer)
			}
			fmt.Fprintln(e.stdout, say(answer))
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON; docs/cli.md lists the fields")
	return cmd
}
