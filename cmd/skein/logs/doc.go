// Package logs is the log file of a gateway: a writer that bounds it, and a
// reader that shows its end and follows it.
//
// The log is skein.log in the state folder. When it would grow beyond its bound
// it becomes skein.log.1, that becomes skein.log.2, and the oldest goes. A line
// is never cut in two by that. The file is private to its owner.
package logs
