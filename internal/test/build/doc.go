// Package build makes the API objects that tests create.
package build
