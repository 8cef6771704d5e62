//go:build !linux

package main

import "errors"

// memoryDir finds no file system in memory here.
func memoryDir() (string, error) { return "", errors.New("only Linux has one that is always there") }
