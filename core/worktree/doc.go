// Package worktree makes, keeps and removes git worktrees in which visible
// sessions work, each on a branch of its own: skein/<name>.
//
// Nothing of a worktree is lost: it is removed only when its files are committed
// and its commits are elsewhere too; else a commit keeps all of it, under
// refs/skein/snapshots, from which it can be restored.
//
// Every function runs git and blocks for as long; call none inside a
// transaction. Hooks and monitors of the repository are not run, and git asks
// nobody for a password.
package worktree
