package core

// RunStatus is the state of a run. It comes from the runtime, never from text.
type RunStatus string

// The states of a run; all from RunOK on are terminal.
const (
	RunQueued      RunStatus = "queued"
	RunRunning     RunStatus = "running"
	RunWaiting     RunStatus = "waiting"
	RunOK          RunStatus = "ok"
	RunError       RunStatus = "error"
	RunTimeout     RunStatus = "timeout"
	RunCancelled   RunStatus = "cancelled"
	RunInterrupted RunStatus = "interrupted"
	RunBudget      RunStatus = "budget"
)

// Live reports whether the run has not ended.
func (s RunStatus) Live() bool { return s == RunQueued || s == RunRunning || s == RunWaiting }

// Task returns the word the task ledger uses for s.
func (s RunStatus) Task() TaskStatus {
	switch s {
	case RunOK:
		return TaskSucceeded
	case RunError:
		return TaskFailed
	case RunTimeout:
		return TaskTimedOut
	case RunCancelled:
		return TaskCancelled
	case RunInterrupted:
		return TaskInterrupted
	case RunBudget:
		return TaskOverBudget
	}
	return TaskStatus(s)
}

// TaskStatus is the state of a task as people see it.
type TaskStatus string

// The states of a task; queued, running and waiting are the run's own words.
const (
	TaskQueued      TaskStatus = "queued"
	TaskRunning     TaskStatus = "running"
	TaskWaiting     TaskStatus = "waiting"
	TaskSucceeded   TaskStatus = "succeeded"
	TaskFailed      TaskStatus = "failed"
	TaskTimedOut    TaskStatus = "timed_out"
	TaskCancelled   TaskStatus = "cancelled"
	TaskInterrupted TaskStatus = "interrupted"
	TaskOverBudget  TaskStatus = "over_budget"
)

// Run returns the run's word for s, "" for a word that is no status.
func (s TaskStatus) Run() RunStatus {
	switch s {
	case TaskQueued, TaskRunning, TaskWaiting, TaskCancelled, TaskInterrupted:
		return RunStatus(s)
	case TaskSucceeded:
		return RunOK
	case TaskFailed:
		return RunError
	case TaskTimedOut:
		return RunTimeout
	case TaskOverBudget:
		return RunBudget
	}
	return ""
}

// TaskStatuses lists what a task can be.
func TaskStatuses() []TaskStatus {
	return []TaskStatus{
		TaskQueued, TaskRunning, TaskWaiting, TaskSucceeded, TaskFailed, TaskTimedOut, TaskCancelled, TaskInterrupted, TaskOverBudget,
	}
}

// Delivery is the state of a task's outcome on its way to whoever asked.
type Delivery string

// The states of delivery.
const (
	DeliveryNotRequired   Delivery = "not_required"   // nobody needs to be told, or all chose silence
	DeliveryPending       Delivery = "pending"        // the run has not ended
	DeliverySessionQueued Delivery = "session_queued" // the event is in the requester's inbox
	DeliveryDelivered     Delivery = "delivered"      // the platform gave an id, or a nested requester consumed it
	DeliveryBlocked       Delivery = "blocked"        // nobody was told; retry or dismiss by id
	DeliveryDismissed     Delivery = "dismissed"
)

// Settled reports whether nothing is to do with the outcome any more: it was
// told, nobody needed to be, or it was let go.
func (d Delivery) Settled() bool {
	return d == DeliveryDelivered || d == DeliveryNotRequired || d == DeliveryDismissed
}

// RunKind says what kind of work a run is, in the ledger of tasks.
type RunKind string

// The kinds of runs. An ordinary turn of a chat is none.
const (
	RunSubagent RunKind = "subagent" // sessions_spawn: the run of a sub-agent
	RunSend     RunKind = "send"     // sessions_send: the answer of a session to another one
	RunDelegate RunKind = "delegate" // a delegation that its caller waits for
	RunCron     RunKind = "cron"     // by the clock
	RunACP      RunKind = "acp"      // an agent of another program
	RunTool     RunKind = "tool"     // work of a tool that goes on behind its turn
)

// RunKinds lists them.
func RunKinds() []RunKind {
	return []RunKind{RunSubagent, RunSend, RunDelegate, RunCron, RunACP, RunTool}
}

// Notify says what people are told of a task in the runtime's own words.
type Notify string

// The policies of a task.
const (
	// NotifyDone has people told the outcome, once.
	NotifyDone Notify = "done_only"
	// NotifyChanges has them told besides when it starts, waits and goes on.
	NotifyChanges Notify = "state_changes"
	// NotifySilent has nobody told: the outcome starts no post of the runtime
	// and no turn of the requester. A requester that waits for the task gets it.
	NotifySilent Notify = "silent"
)

// NotifyPolicies lists them.
func NotifyPolicies() []Notify { return []Notify{NotifyDone, NotifyChanges, NotifySilent} }

// SpawnSpec is what a spawn resolved to; it is stored with the run and
// printable.
type SpawnSpec struct {
	Agent    string `json:"agent"`
	Model    string `json:"model"`
	Thinking string `json:"thinking,omitempty"`
	Mode     string `json:"mode"`    // "run" or "session"
	Context  string `json:"context"` // "isolated" or "fork"
	// LightContext leaves the context files out of the child's prompt.
	LightContext   bool   `json:"lightContext,omitempty"`
	Cleanup        string `json:"cleanup"` // "keep" or "delete"
	TimeoutSeconds int64  `json:"runTimeoutSeconds,omitempty"`
	// ExpectsCompletion is false for fire-and-forget spawns.
	ExpectsCompletion bool `json:"expectsCompletionMessage"`
	// ToolCeiling is the requester's sender policy at the moment of the
	// spawn, the most the child may ever have; nil means no ceiling, an empty one
	// that nothing is left.
	ToolCeiling []string `json:"toolCeiling,omitzero"`
	// AskedAt is the place whose rules for tools hold where the child has none of
	// its own: where the person wrote who is behind the spawn, at every depth.
	AskedAt Address `json:"askedAt,omitzero"`
	// Generation is the history of the requester's session in which it was asked
	// for; 0 in rows of versions that did not note it.
	Generation int64 `json:"generation,omitempty"`
	// Policy is the sender policy of the turn that asked: what comes back from
	// the child is handled under it.
	Policy string `json:"policy,omitempty"`
	// Budget is what the call asked for, nil for no limit of its own; what is
	// left of the tree's budget holds as well.
	Budget *Budget `json:"budget,omitempty"`
	// Cwd is where the child's tools work, absolute and free of symlinks; "" is
	// the workspace of its agent.
	Cwd string `json:"cwd,omitempty"`
	// Files are those that the call handed over, nil for none.
	Files *SpawnFiles `json:"attachments,omitempty"`
	// Sandbox is "inherit": the level of the tool providers, as the requester has.
	Sandbox string `json:"sandbox,omitempty"`
}

// SpawnFiles are the files that a spawn handed to its child.
type SpawnFiles struct {
	Dir   string   `json:"dir"` // the folder, absolute
	Count int      `json:"count"`
	Bytes int64    `json:"totalBytes"`
	Names []string `json:"names"`
	// MountPath is where the requester calls the folder, "" for nowhere else.
	MountPath string `json:"mountPath,omitempty"`
}

// Budget bounds what a run may use, its descendants included. A zero is no
// limit of that kind.
type Budget struct {
	Tokens int64   `json:"tokens,omitempty"` // read and written
	USD    float64 `json:"usd,omitempty"`    // by the configured prices
}

// Run is one execution that owes or tracks an outcome: the lineage row of a
// sub-agent. Times are milliseconds in UTC.
type Run struct {
	ID     string `json:"runId"`
	Root   string `json:"rootRunId"`
	TaskID string `json:"taskId"`
	// Kind says what asked for it; "" is RunSubagent.
	Kind        RunKind `json:"kind"`
	Session     int64   `json:"session"`
	SessionKey  string  `json:"childSessionKey"`
	Requester   int64   `json:"requesterSession"` // session that asked
	RequesterID string  `json:"requesterKey"`
	// RequesterRun is the run whose turn asked, "" where a person's chat did.
	RequesterRun  string `json:"requesterRun,omitempty"`
	RequesterTurn int64  `json:"requesterTurn"`
	// Request is the turn that began the request which the run is part of; its
	// budget is counted by it. The store sets it: that of whoever asked, or where
	// nobody did, the first turn of the run itself.
	Request int64 `json:"request"`
	// Ordinal numbers the children of one requester session, from 1; it never
	// changes.
	Ordinal int `json:"ordinal"`
	// Completion numbers the outcomes of one child session, from 1.
	Completion int    `json:"completion"`
	Depth      int    `json:"depth"`
	Role       string `json:"role"` // "orchestrator" or "leaf"
	Agent      string `json:"agent"`
	Task       string `json:"task"`
	TaskName   string `json:"taskName,omitempty"`
	Label      string `json:"label,omitempty"`
	// Origin is the address of the message that started the requester's run;
	// Anchor its platform message id. Both are immutable.
	Origin   Address   `json:"origin"`
	Anchor   string    `json:"anchor,omitempty"`
	Owner    string    `json:"owner,omitempty"` // the person behind it, "channel:id"
	Spec     SpawnSpec `json:"spec"`
	Status   RunStatus `json:"status"`
	Delivery Delivery  `json:"delivery"`
	Notify   Notify    `json:"notify"`           // who is told what; it can be changed while the run lives
	Detail   string    `json:"detail,omitempty"` // why it ended as it did, or what blocks delivery
	Result   string    `json:"result,omitempty"`
	Partial  bool      `json:"partial,omitempty"`
	Usage
	CreatedAt   Millis `json:"createdAt"`
	StartedAt   Millis `json:"startedAt,omitempty"`
	EndedAt     Millis `json:"endedAt,omitempty"`
	DeliveredAt Millis `json:"deliveredAt,omitempty"`
}

// Name returns what people call the run: its label, else its task name, else
// the start of its task.
func (r Run) Name() string {
	switch {
	case r.Label != "":
		return r.Label
	case r.TaskName != "":
		return r.TaskName
	}
	return Clip(r.Task, 48)
}

// Clip cuts s to at most n characters, whitespace collapsed, with an ellipsis
// where it cut.
func Clip(s string, n int) string {
	out, space := make([]rune, 0, n), false
	for _, c := range s {
		if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			space = len(out) > 0
			continue
		}
		need := 1
		if space {
			need = 2
		}
		if len(out)+need > n {
			for len(out) >= n && len(out) > 0 {
				out = out[:len(out)-1]
			}
			return string(append(out, '…'))
		}
		if space {
			out, space = append(out, ' '), false
		}
		out = append(out, c)
	}
	return string(out)
}
