// Package attach puts the files that a spawn hands to its child into the
// workspace of the child, and takes them away again.
//
// What is handed over is checked whole before anything is written. The files of
// one spawn lie in a folder of their own, with a manifest of their sums; folders
// are for their owner alone (0700), files too (0600), and nothing that exists is
// ever written over. A folder is reached through its workspace only, so that no
// symlink inside leads what is written or removed to another place.
package attach
