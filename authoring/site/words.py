"""The site's own sentences, in both languages."""

MAP = {
    "en": {
        "title": "The lessons",
        "head": "| lesson | minutes | GPU | builds on |",
        "how": "Each page is the notebook with its outputs. Solutions are folded: think first, then"
        " open them. To work on a lesson, download it there: a single file that runs alone, in"
        " JupyterLab or on Colab.",
    },
    "zh": {
        "title": "课程目录",
        "head": "| 课 | 分钟 | GPU | 先学 |",
        "how": "每一页就是带输出的 notebook。答案是折叠的：先自己想，再展开。想动手做，就在那一页"
        "下载：一个文件就能单独运行，用 JupyterLab 或 Colab 都行。",
    },
}
SOLUTION = {
    "en": {"show": "Show a solution", "hide": "Hide the solution", "answer": "A model answer"},
    "zh": {"show": "显示一种解法", "hide": "收起解法", "answer": "参考答案"},
}
DOWNLOAD = {
    "en": {
        "link": "Download this notebook",
        "note": "A single file with the exercises still to do. It holds all it needs, but for"
        " NumPy, Matplotlib and the like.",
    },
    "zh": {
        "link": "下载这个 notebook",
        "note": "一个文件，练习还空着，等你来做。除了 NumPy、Matplotlib 等软件包，它什么都带着。",
    },
}
SWITCH = {"en": ("zh", "zh-CN", "中文"), "zh": ("en", "en", "English")}
FOOTER = {
    "en": 'Licence: {licence} <a href="{licences}">Licences of everything on this site</a>.',
    "zh": '许可：{licence}<a href="{licences}">本网站所含软件的许可证</a>。',
}
