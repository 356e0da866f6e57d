package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

func dataCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "data", Short: "Data of a person: export it, delete it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(dataExport(e), dataDelete(e))
	return cmd
}

// forUser adds the flag that names the person.
func forUser(cmd *cobra.Command, user *string) {
	cmd.Flags().StringVar(user, "user", "", "the person, as channel:id, for example telegram:12345")
	mustMark(cmd.MarkFlagRequired("user"))
}

func dataExport(e *env) *cobra.Command {
	user, out := "", ""
	cmd := &cobra.Command{
		Use: "export --user CHANNEL:ID", Short: "Print everything that is stored of a person, as JSON", Args: cobra.NoArgs,
		Long: `Print everything that is stored of a person as one JSON document: sessions with
their transcripts, what they wrote in groups, tasks, bindings, messages, use.
docs/cli.md lists the fields.

With --out FOLDER the document is FOLDER/data.json without the transcripts, and
each of those is a file of JSON Lines beside it, as is each picture. Files are private (0600).`,
		RunE: does(func(ctx context.Context, _ []string) error { return e.exportData(ctx, user, out) }),
	}
	forUser(cmd, &user)
	cmd.Flags().StringVar(&out, "out", "", "write files into this folder instead")
	return cmd
}

func (e *env) exportData(ctx context.Context, user, out string) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	c, err := e.connect(cfg, false)
	if err != nil {
		return err
	}
	defer c.close() //nolint:errcheck // it was only read from
	var data app.DataView
	if err := c.get(ctx, item("data", user), nil, &data); err != nil {
		return err
	}
	bar := e.progress("sessions and pictures", len(data.Sessions)+len(data.Pictures))
	defer bar.done()
	if out != "" {
		return e.exportFiles(ctx, c, data, e.path(out), bar)
	}
	for i := range data.Sessions {
		s := &data.Sessions[i]
		s.Transcript = []app.RowView{}
		err := eachPersonRow(ctx, c, user, s.ID, func(row app.RowView) error {
			s.Transcript = append(s.Transcript, row)
			return nil
		})
		if err != nil {
			return err
		}
		bar.step()
	}
	for i := range data.Pictures {
		if data.Pictures[i], err = readPicture(ctx, c, user, data.Pictures[i].Ref); err != nil {
			return err
		}
		bar.step()
	}
	bar.done()
	return e.printer().json(data)
}

// readPicture reads a picture with its content.
func readPicture(ctx context.Context, c *client, user, ref string) (p app.PictureView, err error) {
	err = c.get(ctx, item("data", user, "picture"), url.Values{"ref": {ref}}, &p)
	return p, err
}

// rowsPage is how many rows are asked for at a time.
const rowsPage = 500

// eachPersonRow reads a transcript of a person.
func eachPersonRow(ctx context.Context, c *client, user string, session int64, do func(app.RowView) error) error {
	return eachRow(ctx, c, item("data", user, "transcript"), url.Values{"session": {strconv.FormatInt(session, 10)}}, do)
}

// eachRow reads a transcript page by page, of which only one is in memory.
func eachRow(ctx context.Context, c *client, path string, values url.Values, do func(app.RowView) error) error {
	values.Set("limit", strconv.Itoa(rowsPage))
	for after := int64(0); ; {
		var rows []app.RowView
		values.Set("after", strconv.FormatInt(after, 10))
		if err := c.get(ctx, path, values, &rows); err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			if err := do(row); err != nil {
				return err
			}
			after = row.Row
		}
	}
}

func (e *env) exportFiles(ctx context.Context, c *client, data app.DataView, folder string, bar *progress) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	for _, s := range data.Sessions {
		name := filepath.Join(folder, fmt.Sprintf("session-%d.jsonl", s.ID))
		if err := writeFile(name, func(w io.Writer) error {
			enc := json.NewEncoder(w)
			enc.SetEscapeHTML(false)
			return eachPersonRow(ctx, c, data.Person, s.ID, func(row app.RowView) error { return enc.Encode(row) })
		}); err != nil {
			return err
		}
		bar.step()
	}
	for _, listed := range data.Pictures {
		p, err := readPicture(ctx, c, data.Person, listed.Ref)
		if err != nil {
			return err
		}
		content := base64.NewDecoder(base64.StdEncoding, strings.NewReader(p.Data))
		if err := writeFile(filepath.Join(folder, pictureName(p)), func(w io.Writer) error {
			_, err := io.Copy(w, content)
			return err
		}); err != nil {
			return err
		}
		bar.step()
	}
	if err := writeFile(filepath.Join(folder, "data.json"), func(w io.Writer) error { return printer{w: w}.json(data) }); err != nil {
		return err
	}
	bar.done()
	fmt.Fprintf(e.stdout, "wrote data.json, %d transcripts and %d pictures to %s\n", len(data.Sessions), len(data.Pictures), folder)
	return nil
}

// pictureName is the file of a picture: its name and the kind of its content.
func pictureName(p app.PictureView) string {
	_, kind, _ := strings.Cut(p.Type, "/")
	safe := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return -1
	}
	return "picture-" + strings.Map(safe, p.Ref) + "." + strings.Map(safe, kind)
}

// writeFile writes a private file.
func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write an export: %w", err)
	}
	w := bufio.NewWriter(f)
	return errors.Join(write(w), w.Flush(), f.Close())
}

func dataDelete(e *env) *cobra.Command {
	user := ""
	var o struct{ yes, force, json bool }
	cmd := &cobra.Command{
		Use: "delete --user CHANNEL:ID", Short: "Remove everything that is stored of a person", Args: cobra.NoArgs,
		Long: `Remove everything that is stored of a person, in one transaction, and say what
was done table by table. Their own sessions go whole. In groups and threads that
others share, what they wrote and what was answered to them alone is emptied,
and the rows stay.

While a turn or a sub-agent works for them it is refused; --force stops that
first, as /stop does. Export before you delete: it cannot be undone. Backups, the
log and the chat platform keep what they have.`,
		RunE: does(func(ctx context.Context, _ []string) error {
			if !o.yes {
				if err := e.confirm(user); err != nil {
					return err
				}
			}
			report, err := e.deleteData(ctx, user, o.force)
			if err != nil {
				return err
			}
			if o.json {
				return e.printer().json(report)
			}
			showReport(e.printer(), report)
			return nil
		}),
	}
	forUser(cmd, &user)
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&o.force, "force", false, "stop what is in progress for the person first")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON; docs/cli.md lists the fields")
	return cmd
}

// confirm asks before something is done that cannot be undone.
func (e *env) confirm(user string) error {
	fmt.Fprintf(e.stderr, "Remove everything that is stored of %s? It cannot be undone. Type yes: ", user)
	line, err := bufio.NewReader(e.stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if strings.TrimSpace(line) != "yes" {
		fmt.Fprintln(e.stderr)
		return core.Errorf("not_confirmed", "nothing was removed").WithRemedy("type yes, or use --yes")
	}
	return nil
}

// deleteData asks the gateway, or takes the store with its lock where none runs.
func (e *env) deleteData(ctx context.Context, user string, force bool) (report app.DataReport, err error) {
	cfg, err := e.load()
	if err != nil {
		return report, err
	}
	c, err := e.connect(cfg, true)
	if core.ErrorCode(err) == "gateway_down" {
		return e.deleteInStore(ctx, cfg, user, force)
	}
	if err != nil {
		return report, err
	}
	defer c.close() //nolint:errcheck // the answer is there
	err = c.post(ctx, item("data", user, "delete"), app.DataDeletion{Force: force}, &report)
	return report, err
}

func (e *env) deleteInStore(ctx context.Context, cfg *config.Config, user string, force bool) (report app.DataReport, err error) {
	where, err := store.ParseURL(cfg.Store.URL.Reveal())
	if err != nil {
		return report, err
	}
	if where.Path != "" {
		if _, err := os.Stat(where.Path); err != nil {
			return report, core.Errorf("store_missing", "there is no store at %s", where.Path).WithRemedy("check store.url")
		}
	}
	where.World = world.New(e.clock, nil, 0)
	db, err := store.Open(ctx, where)
	if err != nil {
		return report, err
	}
	report, err = app.EraseData(ctx, db, user, force)
	return report, errors.Join(err, db.Close())
}

func showReport(p printer, r app.DataReport) {
	if r.Stopped != "" {
		fmt.Fprintf(p.w, "stopped: %s\n", r.Stopped)
	}
	var rows [][]cell
	for _, t := range r.Tables {
		if t.Removed+t.Emptied > 0 {
			rows = append(rows, []cell{plainCell("%s", t.Table), plainCell("%d", t.Removed), plainCell("%d", t.Emptied)})
		}
	}
	p.table("nothing was stored of "+r.Person, []string{"TABLE", "REMOVED", "EMPTIED"}, rows)
}
