package subagent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/attach"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/tool"
	"github.com/skein-bot/skein/core/world"
)

// FileRules are tools.sessions_spawn.attachments.
type FileRules struct {
	Enabled bool
	attach.Limits
}

// attachAs is the hint how the requester calls the folder of the files.
type attachAs struct {
	MountPath string `json:"mountPath"`
}

// mountForm is what a mountPath may look like; it is shown and never used.
var mountForm = regexp.MustCompile(`^[A-Za-z0-9._\-/:]{1,255}$`)

var _ tool.Withholder = SpawnTool{}

// withheldMark stands in a transcript for what a file had in it.
const withheldMark = "[withheld: %d bytes]"

// Withhold implements tool.Withholder: the content of files is not kept.
func (SpawnTool) Withhold(args json.RawMessage) (kept json.RawMessage, taken bool) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(args, &all); err != nil {
		if !bytes.Contains(args, []byte("content")) {
			return nil, false
		}
		return json.RawMessage(fmt.Sprintf(`{"withheld":"%d bytes that are no JSON object"}`, len(args))), true
	}
	for name, raw := range all {
		if strings.EqualFold(name, "attachments") { // however it is written: what is refused is kept too
			all[name], taken = withoutContent(raw), true
		}
	}
	if !taken {
		return nil, false
	}
	kept, err := json.Marshal(all)
	return kept, err == nil
}

// withoutContent is a list of files without what is in them; of anything else
// nothing is left.
func withoutContent(raw json.RawMessage) json.RawMessage {
	var files []attach.File
	if err := json.Unmarshal(raw, &files); err != nil {
		return json.RawMessage(fmt.Sprintf(`"`+withheldMark+`"`, len(raw)))
	}
	for i := range files {
		files[i].Content = fmt.Sprintf(withheldMark, len(files[i].Content))
	}
	out, err := json.Marshal(files)
	if err != nil {
		return json.RawMessage(`[]`)
	}
	return out
}

// checkFiles checks the files that the call hands over, before anything is done.
func (s *spawn) checkFiles() (err error) {
	if s.p.AttachAs != nil && !mountForm.MatchString(s.p.AttachAs.MountPath) {
		return core.Errorf("bad_params", "attachAs.mountPath %q is not a path", core.Clip(s.p.AttachAs.MountPath, 80)).
			WithRemedy("letters, digits and . _ - / : only; it is a name for the folder, and nothing is mounted")
	}
	if len(s.p.Attachments) == 0 && s.p.AttachAs == nil {
		return nil
	}
	rules := s.e.Config.Files()
	if !rules.Enabled {
		return core.Errorf("attachments_disabled", "files are not handed over here").
			WithRemedy("put what the child needs into the task, or have an operator set tools.sessions_spawn.attachments.enabled")
	}
	s.files, err = attach.Check(s.p.Attachments, rules.Limits)
	return err
}

// specFiles is what the spec of the run says of the files.
func (s *spawn) specFiles() *core.SpawnFiles {
	if len(s.files) == 0 {
		return nil
	}
	m := attach.Sum(s.files)
	out := &core.SpawnFiles{
		Dir: filepath.Join(s.e.Config.Workspace(s.targetID()), attach.Dir(uuid(s.run.ID))), Count: m.Count, Bytes: m.TotalBytes,
	}
	for _, f := range m.Files {
		out.Names = append(out.Names, f.Name)
	}
	if s.p.AttachAs != nil {
		out.MountPath = s.p.AttachAs.MountPath
	}
	return out
}

// noteFiles notes the folder of the files before it is made.
func (s *spawn) noteFiles(tx *store.Tx) error {
	f := s.run.Spec.Files
	if f == nil {
		return nil
	}
	workspace := s.e.Config.Workspace(s.targetID())
	if workspace == "" {
		return core.Errorf("attachments_no_workspace", "the agent %q has no workspace, where files could go", s.targetID()).
			WithRemedy("put what the child needs into the task, or have an operator set agents.entries.%s.workspace", s.targetID())
	}
	s.folder = store.Attachment{
		Session: s.run.Session, Root: workspace, Dir: attach.Dir(uuid(s.run.ID)), Files: f.Count, Bytes: f.Bytes,
	}
	return tx.InsertAttachment(s.folder, s.e.World.Now())
}

// furnish makes what the child finds when it starts. resumed says that an
// earlier process may have made a part of it.
func (s *spawn) furnish(ctx context.Context, resumed bool) error {
	if err := s.makeWorktree(ctx, resumed); err != nil {
		return err
	}
	if len(s.files) == 0 {
		return nil
	}
	if err := s.e.World.Err(); err != nil {
		return err
	}
	err := error(nil)
	if resumed {
		err = attach.Remove(s.folder.Root, s.folder.Dir)
	}
	if err == nil {
		err = attach.Write(s.folder.Root, s.folder.Dir, s.files)
	}
	if err != nil {
		return core.Errorf("attachments_failed", "the files could not be written: %v", err).
			WithRemedy("put what the child needs into the task, or have an operator look at the workspace of %s", s.targetID())
	}
	return s.e.World.Crash(world.SpawnAfterFiles)
}

// resultFiles is what the result says of the files.
type resultFiles struct {
	attach.Manifest
	RelDir string `json:"relDir"` // inside the workspace of the child
}

func (s *spawn) resultFiles() *resultFiles {
	if len(s.files) == 0 {
		return nil
	}
	return &resultFiles{Manifest: attach.Sum(s.files), RelDir: s.folder.Dir}
}

// removeFiles removes the folder of a session's files; it reports whether none
// is left.
func (e *Engine) removeFiles(a store.Attachment) bool {
	if a.Session == 0 {
		return true
	}
	if e.World.Err() != nil {
		return false
	}
	if err := attach.Remove(a.Root, a.Dir); err != nil {
		e.Log.Warn("the folder of files that a spawn handed over could not be removed; it is tried again", "folder", filepath.Join(a.Root, a.Dir), "error", err)
		return false
	}
	return true
}

// forgetFiles takes the row of a folder that is cleared; another is removed
// later.
func (e *Engine) forgetFiles(tx *store.Tx, session int64, cleared bool) error {
	if cleared {
		return tx.DeleteAttachment(session)
	}
	return e.letGoOfFiles(tx, session)
}

// letGoOfFiles has the files of a session removed after the commit.
func (e *Engine) letGoOfFiles(tx *store.Tx, session int64) error {
	now := e.World.Now()
	ok, err := tx.LetGoOfAttachment(session, now)
	if ok {
		tx.OnCommit(func() { e.kernel.Due(now) })
	}
	return err
}

const (
	filesBatch = 50
	filesAgain = 10 * time.Minute // until a folder is tried again
)

// Files returns the folders that are to be removed, for the kernel.
func (e *Engine) Files() kernel.Source { return filesSource{e} }

type filesSource struct{ e *Engine }

// Name implements kernel.Source.
func (filesSource) Name() string { return "files of spawns" }

// Next implements kernel.Source.
func (filesSource) Next(tx *store.Tx) (core.Millis, error) { return tx.NextGoneAttachment() }

// Fire implements kernel.Source. The folders are removed after the commit; the
// row of one stays until it is.
func (f filesSource) Fire(tx *store.Tx, now core.Millis) (int, error) {
	gone, err := tx.TakeGoneAttachments(now, now.Add(filesAgain), filesBatch)
	if err != nil || len(gone) == 0 {
		return len(gone), err
	}
	tx.OnCommit(func() { f.e.Go(func(ctx context.Context) { f.e.clear(ctx, gone) }) })
	return len(gone), nil
}

func (e *Engine) clear(ctx context.Context, gone []store.Attachment) {
	for _, a := range gone {
		if !e.removeFiles(a) {
			continue
		}
		if err := e.DB.Write(ctx, func(tx *store.Tx) error { return tx.DeleteAttachment(a.Session) }); err != nil {
			e.Log.Warn("a folder of files that is removed could not be forgotten", "error", err)
			return
		}
	}
}
