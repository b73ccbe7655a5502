// Package commandline has the commands that look at Objects and targets as their caller: diff says what manifests would
// change, import makes Objects of resources that run, and trace shows why something is not Ready. They act by the
// rights of their caller, write nothing but dry runs, and print nothing of a Secret.
//
// An answer comes from the code that works in the provider, because only the target knows its defaults, its webhooks
// and who owns which field.
//
// What cannot be read, reached or followed is told, and the exit code says so whatever else was found: a pipeline would
// take silence for no difference.
package commandline
