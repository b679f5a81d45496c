"""Soft-label methods, one file each; a method's name in commands and results is its file's name."""

from postel.smoothers.base import Smoother
from postel.smoothers.one_hot import OneHot
from postel.smoothers.postel import PosteL, posterior_soft_labels
from postel.smoothers.sals import SALS
from postel.smoothers.uniform import UniformSmoothing

__all__ = ["SALS", "OneHot", "PosteL", "Smoother", "UniformSmoothing", "posterior_soft_labels"]
