package commandline

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// stdin is the name of the standard input among files.
const stdin = "-"

// A document is one manifest of a file.
type document struct {
	*unstructured.Unstructured

	at  string // the file, and which document of it
	err error  // why there is no manifest
}

// read returns the manifests of a file, with those in lists one by one.
func read(file string, in io.Reader) ([]document, error) {
	if file != stdin {
		f, err := os.Open(file) //nolint:gosec // The caller names it.
		if err != nil {
			return nil, errors.Wrap(err, "cannot read manifests")
		}
		defer f.Close() //nolint:errcheck // It is only read.
		in = f
	}
	var all []document
	r := utilyaml.NewYAMLReader(bufio.NewReader(in))
	for i := 1; ; i++ {
		text, err := r.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, errors.Wrapf(err, "cannot read %s", file)
		}
		all = append(all, parse(fmt.Sprintf("%s, document %d", file, i), text)...)
	}
}

// parse returns the manifests of a text: none if there are only comments. Errors quote nothing of it.
func parse(at string, text []byte) []document {
	content := map[string]any{}
	raw, err := yaml.YAMLToJSONStrict(text)
	switch {
	case err == nil && bytes.Equal(raw, []byte("null")):
		return nil
	case err != nil, utiljson.Unmarshal(raw, &content) != nil:
		return []document{{at: at, err: errors.New("the document is not YAML of a resource, or has a duplicate key")}}
	}
	u := &unstructured.Unstructured{Object: content}
	if !u.IsList() {
		return []document{{Unstructured: u, at: at}}
	}
	var all []document
	err = u.EachListItem(func(o runtime.Object) error {
		item, _ := o.(*unstructured.Unstructured) // As all items of such a list.
		all = append(all, document{Unstructured: item, at: at})
		return nil
	})
	if err != nil {
		all = append(all, document{at: at, err: errors.New("the items of the list are not resources")})
	}
	return all
}
